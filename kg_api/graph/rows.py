"""Converts result rows to Python values."""

from __future__ import annotations

from neo4j.time import DateTime

from kg_api.graph.client import Row


def convert_times(row: Row) -> Row:
    """Convert the database times in a row to Python times."""
    return {name: value.to_native() if isinstance(value, DateTime) else value for name, value in row.items()}
