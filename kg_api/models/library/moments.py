"""Dates as people write them (ISO 8601), as spans of time that can be compared. Pure."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

_MONTH = re.compile(r"\d{4}-\d{2}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?\s*(Z|[+-]\d{2}:?\d{2})?", re.IGNORECASE
)
LIKE_A_DAY = re.compile(r"\d{4}-\d{2}(-\d{2})?")
"""What a person means as a day or a month, though it may be none."""
LAST_YEAR = 9999
MAX_CHARACTERS = 40
"""Characters of a date that is looked at."""


class Moment(NamedTuple):
    """What a date stands for: a month, a day, or a point in time; without a zone it is UTC."""

    start: datetime
    until: datetime
    """Behind its end."""


def moment(text: str) -> Moment | None:
    """A text as a span of time; None where it is no date of at least a year and a month."""
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        return _moment(text.strip())
    except (ValueError, OverflowError):
        return None


def moments_of(value: object) -> list[Moment]:
    """The dates of a value of the metadata, in their order; none where it holds none."""
    several = cast("list[object]", value) if isinstance(value, list) else [value]
    found = (moment(each) for each in several if isinstance(each, str))
    return [each for each in found if each is not None]


def year(number: int) -> Moment | None:
    """A year as a span of time."""
    if not 1 <= number < LAST_YEAR:
        return None
    return Moment(datetime(number, 1, 1, tzinfo=UTC), datetime(number + 1, 1, 1, tzinfo=UTC))


def _moment(text: str) -> Moment | None:
    if _MONTH.fullmatch(text):
        start = datetime.fromisoformat(f"{text}-01").replace(tzinfo=UTC)
        return Moment(start, start + timedelta(days=calendar.monthrange(start.year, start.month)[1]))
    if _DAY.fullmatch(text):
        start = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return Moment(start, start + timedelta(days=1))
    if not _TIME.fullmatch(text):
        return None
    at = datetime.fromisoformat(re.sub(r"\s+(?=[zZ+-])", "", text).replace(",", ".").replace("z", "Z"))
    start = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    return Moment(start, start + timedelta(microseconds=1))
