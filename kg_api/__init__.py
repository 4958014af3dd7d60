"""kg: a self-hosted graph knowledge service."""

__version__ = "0.2.0"
