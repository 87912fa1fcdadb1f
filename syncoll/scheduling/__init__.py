"""From trees to steps: what a seed that packs trees needs to become an algorithm."""

from syncoll.scheduling.trees import Tree

__all__ = ["Tree"]
