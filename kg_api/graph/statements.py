"""Cypher statements: one a file, below `cypher/`; a statement's name is its path without the suffix."""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import LiteralString, cast


def folder() -> Traversable:
    """Where the statements are: beside the package in a wheel, at the repository's root in a checkout."""
    packaged = resources.files("kg_api") / "cypher"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "cypher"


@cache
def statement(name: str) -> LiteralString:
    """The text of a statement.

    The one cast to LiteralString: the driver takes no other text, so a query put together at run time fails
    type checking.
    """
    return cast("LiteralString", folder().joinpath(f"{name}.cypher").read_text(encoding="utf-8"))


def names(below: str) -> list[str]:
    """The names of all statements in one folder, in alphabetical order."""
    files = folder().joinpath(below).iterdir()
    return sorted(f"{below}/{file.name.removesuffix('.cypher')}" for file in files)
