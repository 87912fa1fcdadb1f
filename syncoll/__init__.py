"""syncoll synthesises provably optimal collective communication algorithms."""

__version__ = "0.1.0"
