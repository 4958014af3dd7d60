"""Metadata as properties that Cypher can compare, beside the JSON that is told.

`meta.KEY` holds a value as it is, a list as a list, a text to its first 1,000 characters; `when.KEY` holds
the points in time at which the dates among them begin (kg_api.models.library.moments).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kg_api.models.library.metadata import MetadataValue
from kg_api.models.library.moments import moments_of

MAX_COMPARED = 1000
"""Characters of a text that are compared."""
VALUES: Final = "meta."
TIMES: Final = "when."


def metadata_properties(metadata: str, before: str | None = None) -> dict[str, Any]:
    """The properties of a document's metadata; null for keys of what it was before.

    Args:
        metadata: a JSON object.
        before: the one that is stored.
    """
    known: dict[str, MetadataValue] = json.loads(metadata)
    gone = json.loads(before or "{}").keys()
    properties: dict[str, Any] = {f"{kind}{key}": None for key in gone for kind in (VALUES, TIMES)}
    return {**properties, **_values(known)}


def _values(known: Mapping[str, MetadataValue]) -> dict[str, Any]:
    values = {f"{VALUES}{key}": _compared(value) for key, value in known.items()}
    times = {f"{TIMES}{key}": [each.start for each in moments_of(value)] for key, value in known.items()}
    return {**values, **{key: found for key, found in times.items() if found}}


def _compared(value: MetadataValue) -> Any:
    if isinstance(value, list):
        return [_compared(each) for each in value]
    return value[:MAX_COMPARED] if isinstance(value, str) else value
