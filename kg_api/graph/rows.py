"""Rows of statements as values of Python."""

from __future__ import annotations

from neo4j.time import DateTime

from kg_api.graph.client import Row


def with_times(row: Row) -> Row:
    """Return a row with the database's times as Python's."""
    return {name: value.to_native() if isinstance(value, DateTime) else value for name, value in row.items()}
