"""A real network on one machine: our algorithms next to the collectives of libraries."""
