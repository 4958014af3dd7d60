"""A number with what it counts, as a person writes it. Pure."""

from __future__ import annotations


def pluralize(number: int, noun: str, plural: str | None = None) -> str:
    """`1 document`, `2 documents`; `plural` where it is not the noun and an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def are(number: int) -> str:
    return "is" if number == 1 else "are"


def was(number: int) -> str:
    """The verb behind what has been."""
    return "was" if number == 1 else "were"
