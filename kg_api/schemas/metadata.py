"""Metadata of documents: values, limits, and dates."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Annotated, Final, NamedTuple, cast

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from kg_api.schemas.base import Text, require_storable

_MONTH = re.compile(r"\d{4}-\d{2}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?\s*(Z|[+-]\d{2}:?\d{2})?", re.IGNORECASE
)
_DAY_IN_NAME = re.compile(r"((?:19|20)\d\d)(-?)(\d\d)\2(\d\d)(?!\d)")
LIKE_A_DAY = re.compile(r"\d{4}-\d{2}(-\d{2})?")
"""Pattern of an intended day or month, including invalid ones."""
LAST_YEAR = 9999
MAX_CHARACTERS = 40


class Moment(NamedTuple):
    """Time span of a date: a month, day, or point in time. The default time zone is UTC."""

    start: datetime
    until: datetime


def parse_moment(text: str) -> Moment | None:
    """Return the time span of a text, or None if it is not a date with at least year and month."""
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        return _parse_moment(text.strip())
    except (ValueError, OverflowError):
        return None


def parse_moments(value: object) -> list[Moment]:
    several = cast("list[object]", value) if isinstance(value, list) else [value]
    found = (parse_moment(each) for each in several if isinstance(each, str))
    return [each for each in found if each is not None]


def parse_year(number: int) -> Moment | None:
    if not 1 <= number < LAST_YEAR:
        return None
    return Moment(datetime(number, 1, 1, tzinfo=UTC), datetime(number + 1, 1, 1, tzinfo=UTC))


def _parse_moment(text: str) -> Moment | None:
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


# Metadata keys and values

Scalar = str | int | float | bool
MetadataValue = Scalar | list[str] | list[int] | list[float] | list[bool] | None

MAX_METADATA_KEYS = 64
MAX_METADATA_CHARACTERS = 65_536
MAX_METADATA_LIST = 100
INT64 = 2**63
MODIFIED: Final = "modified"
"""Modification time of a document or file. Prompts and chunk contexts omit it, because a change of one
paragraph would invalidate all of them."""
DATES: Final = ("date", "published", "updated", "created")
"""Keys with the date of a document, best first."""
ALIASES: Final = ("aliases", "alias")


def _require_storable(metadata: dict[str, MetadataValue]) -> dict[str, MetadataValue]:
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
    """Raise ValueError for a number or text that Neo4j cannot store."""
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise ValueError(f"{key!r} is not a finite number")
    if isinstance(value, int) and abs(value) >= INT64:
        raise ValueError(f"{key!r} does not fit 64 bits")
    if isinstance(value, str):
        require_storable(value)


def _require_value(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Report a value of a wrong type once, not for each type that is possible."""
    wrong = "must be a text, a number, true, false, or a list of one of these types"
    several = cast("list[object]", value) if isinstance(value, list) else []
    if len({float if type(each) is int else type(each) for each in several}) > 1:
        raise ValueError(wrong)  # pydantic would convert ["1", 2] and [true, 1] to numbers
    try:
        return validate(value)
    except ValidationError:
        raise ValueError(wrong) from None


Metadata = Annotated[
    dict[
        Annotated[Text, StringConstraints(max_length=200)],
        Annotated[MetadataValue, WrapValidator(_require_value)],
    ],
    Field(max_length=MAX_METADATA_KEYS),
    AfterValidator(_require_storable),
]


def _require_calendar_dates(metadata: dict[str, MetadataValue]) -> dict[str, MetadataValue]:
    for key in ("date", MODIFIED):
        value = metadata.get(key)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str) and LIKE_A_DAY.fullmatch(each.strip()) and parse_moment(each) is None:
                raise ValueError(f"{each!r} is not a calendar day or month, so no filter by {key} finds it")
    return metadata


GivenMetadata = Annotated[Metadata, AfterValidator(_require_calendar_dates)]
"""Metadata of a request. In a file, kg keeps a date that does not exist as text."""


def read_time(text: str) -> datetime:
    """Return the time of an ISO 8601 text in UTC. Raise ValueError for other texts."""
    if (found := parse_moment(text)) is None:
        raise ValueError(f"{text[:100]!r} is not a time. Write 2025-03-31 or 2025-03-31T09:30:00Z")
    return found.start


def _to_utc(text: str) -> str:
    return _format_utc(read_time(text))


def _format_utc(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


FileTime = Annotated[str, AfterValidator(_to_utc)]
"""Time in ISO 8601. The default time zone is UTC. kg stores UTC seconds."""


def format_file_time(seconds: float) -> str | None:
    """Return a file's time as `FileTime`, or None if the calendar does not include it."""
    try:
        return _format_utc(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def add_named_date(metadata: dict[str, MetadataValue], document: str) -> dict[str, MetadataValue]:
    """Add the date at the start of a file's name, unless the metadata contains the date of the document."""
    found = _DAY_IN_NAME.match(PurePosixPath(document).name)
    day = found.expand(r"\1-\3-\4") if found else ""
    if "date" in metadata or not parse_moment(day) or any(_is_date(metadata.get(key)) for key in DATES):
        return metadata
    return {**metadata, "date": day}


def add_file_time(metadata: dict[str, MetadataValue], modified: str | None) -> dict[str, MetadataValue]:
    """Add the modification time, unless the metadata contains a date."""
    stated = any(_is_date(metadata.get(key)) for key in (*DATES, MODIFIED))
    return metadata if modified is None or stated else {**metadata, MODIFIED: modified}


def _is_date(value: MetadataValue) -> bool:
    is_year = isinstance(value, int) and not isinstance(value, bool) and parse_year(value) is not None
    return is_year or bool(parse_moments(value))


def find_aliases(metadata: Mapping[str, MetadataValue]) -> list[str]:
    """Find the aliases of a document without duplicates, from lists and comma-separated texts."""
    values = (metadata.get(key) for key in ALIASES)
    names = (
        str(name).strip()
        for value in values
        if value is not None and not isinstance(value, bool)
        for name in (value if isinstance(value, list) else str(value).split(","))
    )
    return [*dict.fromkeys(name for name in names if name)]
