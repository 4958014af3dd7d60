"""What is said of a document, by keys: values and lists of values, within limits."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from kg_api.models.base import Text, storable

Scalar = str | int | float | bool
MetadataValue = Scalar | list[str] | list[int] | list[float] | list[bool] | None

MAX_METADATA_KEYS = 64
MAX_METADATA_CHARACTERS = 65_536
MAX_METADATA_LIST = 100
INT64 = 2**63


def _storable(metadata: dict[str, MetadataValue]) -> dict[str, MetadataValue]:
    for key, value in metadata.items():
        if not key.isprintable():
            raise ValueError(f"{key!r} holds characters that cannot be printed")
        if isinstance(value, list) and len(value) > MAX_METADATA_LIST:
            raise ValueError(f"{key!r} is a list of more than {MAX_METADATA_LIST} values")
        for each in value if isinstance(value, list) else [value]:
            check_value(key, each)
    if sum(len(key) + len(str(value)) for key, value in metadata.items()) > MAX_METADATA_CHARACTERS:
        raise ValueError(f"is longer than {MAX_METADATA_CHARACTERS:,} characters in all")
    return metadata


def check_value(key: str, value: Scalar | None) -> None:
    """Refuse what Neo4j would not store.

    Raises:
        ValueError: the value is no finite number, does not fit 64 bits, or is no proper text.
    """
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise ValueError(f"{key!r} is not a finite number")
    if isinstance(value, int) and abs(value) >= INT64:
        raise ValueError(f"{key!r} does not fit 64 bits")
    if isinstance(value, str):
        storable(value)


Metadata = Annotated[
    dict[Annotated[Text, StringConstraints(max_length=200)], MetadataValue],
    Field(max_length=MAX_METADATA_KEYS),
    AfterValidator(_storable),
]
"""What a client says about a document."""
