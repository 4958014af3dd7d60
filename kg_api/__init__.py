"""kg: a self-hosted knowledge graph service."""

__version__ = "0.2.0"
