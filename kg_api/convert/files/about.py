"""What files say of themselves, as metadata that can be stored and filtered by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from typing import cast

from kg_api.convert.markdown_text import one_line
from kg_api.models.library.metadata import MetadataValue

_MAX_LENGTH = 1_000
_MAX_VALUES = 100
_PARTIAL = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")


def metadata(**said: object) -> dict[str, MetadataValue]:
    """Keep what is said: words on one line, lists of words without repetition, dates as ISO 8601."""
    found = {key: _value(value) for key, value in said.items()}
    return {key: value for key, value in found.items() if value}


def _value(value: object) -> MetadataValue:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        words = dict.fromkeys(_short(str(each)) for each in cast("list[object]", value))
        return [word for word in words if word][:_MAX_VALUES]
    return _short(str(value or ""))


def _short(text: str) -> str:
    return one_line(text[: 10 * _MAX_LENGTH])[:_MAX_LENGTH]


def one_or_list(values: Iterable[object]) -> str | list[str]:
    """One author is a word, several are a list."""
    words = list(dict.fromkeys(filter(None, (_short(str(each)) for each in values))))
    return words[0] if len(words) == 1 else words


def keywords(text: str) -> list[str]:
    """Keywords as people write them in one field: between commas or semicolons."""
    return [word.strip() for word in re.split(r"[;,\n]", text) if word.strip()]


def iso_date(text: str) -> str:
    """A date as ISO 8601, if it is one in any usual notation; nothing otherwise."""
    words = text.strip()[:100]
    if _PARTIAL.fullmatch(words):
        return words
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(words)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return moment.isoformat() if re.search(r"\d:\d", words) else moment.date().isoformat()
    return ""
