"""Live progress on standard error: of searches, and of other tasks."""
