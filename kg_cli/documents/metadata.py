"""Metadata as it is written on a command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from kg_api.models.queries.filters import read_value

ABOUT = ("title", "uri")
"""Keys that are no metadata."""


def read_changes(values: Sequence[str], several: Sequence[str], remove: Sequence[str]) -> dict[str, Any]:
    """What is to be changed of a document, as the client takes it.

    Raises:
        BadParameter: a value has no key, or nothing is to be changed.
    """
    given = dict(map(_divide, values))
    about = {key: value for key, value in given.items() if key in ABOUT}
    metadata: dict[str, Any] = {key: read_value(value) for key, value in given.items() if key not in ABOUT}
    metadata |= _read_lists(several)
    metadata |= dict.fromkeys(remove)
    if not about and not metadata:
        raise typer.BadParameter("nothing is to be changed; write KEY=VALUE")
    return {**about, "metadata": metadata}


def read_metadata(values: Sequence[str], several: Sequence[str]) -> dict[str, Any]:
    """What is said of each of several documents.

    Raises:
        BadParameter: a value has no key, or is one that each document has for itself.
    """
    given = dict(map(_divide, values))
    if own := [key for key in ABOUT if key in given]:
        raise typer.BadParameter(
            f"{own[0]} is each document's own; `kg documents set DOCUMENT {own[0]}=VALUE` changes it"
        )
    return {key: read_value(value) for key, value in given.items()} | _read_lists(several)


def _read_lists(several: Sequence[str]) -> dict[str, Any]:
    return {key: _read_list(value) for key, value in map(_divide, several)}


def _read_list(text: str) -> list[Any]:
    """Values of one type: texts where they are not."""
    parts = [each.strip() for each in text.split(",")]
    values = [read_value(each) for each in parts]
    return values if len(set(map(type, values))) == 1 else parts


def _divide(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise typer.BadParameter(f"{text!r} is no KEY=VALUE.")
    return key.strip(), value.strip()
