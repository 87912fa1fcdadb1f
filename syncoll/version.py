"""The version of syncoll, from which the package takes it."""

__version__ = "0.2.0"
