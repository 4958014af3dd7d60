"""Conditions as a link writes them: what a facet shows, asked for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kg_api.models.queries.facets import FacetCounts, FacetValue
from kg_api.models.queries.filters import OF_TIME, PAGE, parse_conditions

ORDERED: Final = (">=", "<=")
"""By which also dates are compared."""


def condition_of(facet: FacetCounts, value: FacetValue) -> str | None:
    """The condition that finds the documents of a value; None: one line cannot say it."""
    written = f"{_quoted(facet.field)}={_written(value.value, is_date=facet.by is not None)}"
    try:
        read = parse_conditions(written)
    except ValueError:
        return None
    same = str(read.get("value")) == value.value if facet.by else read.get("value") == value.value
    return written if same and (read.get("field"), read.get("op")) == (facet.field, "=") else None


def begun_conditions(fields: Sequence[str]) -> list[str]:
    """How a condition on each field begins; what has an order also from a value on, and up to one.

    Args:
        fields: as conditions name them.
    """
    begun = [
        (each, sign) for each in fields for sign in ("=", *(ORDERED if each in (*OF_TIME, PAGE) else ()))
    ]
    return [f"{_quoted(field)}{sign}" for field, sign in begun if _can_be_named(field)]


def _can_be_named(field: str) -> bool:
    """Whether a line can say it: not one with quotes of both kinds."""
    try:
        return parse_conditions(f"{_quoted(field)}=1").get("field") == field
    except ValueError:
        return False


def _written(value: str | float | bool, *, is_date: bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if not isinstance(value, str) or is_date else _plain_or_quoted(value)


def _plain_or_quoted(text: str) -> str:
    """As people write it where that is read as the same text."""
    simple = text.replace("-", "").replace("_", "").isalpha() and text.lower() not in {"true", "false"}
    return text if simple else f'"{text}"' if "'" in text else f"'{text}'"


def _quoted(field: str) -> str:
    plain = all(each.isalnum() or each in "_-." for each in field)
    return field if field and plain else f"'{field}'"
