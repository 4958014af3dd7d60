# Written by scripts/unasync.py from ../asynchronous/__init__.py; change that, not this.
"""The sync client, by what is dealt with."""

from kg_api.client.sync.client import KgClient

__all__ = ["KgClient"]
