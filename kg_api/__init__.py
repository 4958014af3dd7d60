"""kg: a self-hosted graph knowledge service."""

__version__ = "0.1.0"
