"""Numbers and moments as people read them."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Final, cast

DONE: Final = {
    "synonyms": "The synonyms are saved.",
    "language": "The language is set.",
    "embedding": "How it is embedded is changed.",
    "extraction": "How concepts are found is changed.",
    "document": "The document is deleted.",
    "result": "The run is deleted.",
}
"""What a page says of the form that led to it, by the word for it in the address: no other text comes in."""


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with what it counts, digits in threes: `1 document`, `1,200 documents`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")  # noqa: PLR2004 - eleventh to thirteenth
    return f"{number:,}{ending}"


def share(part: float) -> str:
    """A share of 1 in per cent: 100 % only where nothing is missing, 0 % only where nothing is there."""
    percent = part * 100
    shown = min(99, max(1, round(percent))) if 0 < percent < 100 else round(percent)  # noqa: PLR2004 - per cent
    return f"{shown} %"


def duration(seconds: int) -> str:
    """In the largest unit that fits evenly: `90 seconds`, `5 minutes`, `1 hour`, `2 days`."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds and seconds % size == 0:
            return count(seconds // size, unit)
    return count(seconds, "second")


def pace(items_a_second: float) -> str:
    """`12 a second`, `24 a minute`, `20 an hour`: in the first of them that leaves at least one."""
    for seconds, unit in ((1, "a second"), (60, "a minute")):
        if items_a_second * seconds >= 1:
            return f"{_two_digits(items_a_second * seconds)} {unit}"
    return f"{_two_digits(items_a_second * 3600)} an hour"


def _two_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"  # noqa: PLR2004 - of these two digits stand anyhow


def time_left(seconds: float) -> str:
    """How long something goes on, no less than it is: `about 40 seconds`, `about 3 minutes`."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"about {count(math.ceil(seconds / size), unit)}"
    return f"about {count(max(1, math.ceil(seconds)), 'second')}"


def moment(at: datetime) -> str:
    """To the minute, in UTC."""
    return at.strftime("%Y-%m-%d %H:%M")


def as_text(given: object) -> str:
    """A value of the metadata, whatever it is: nothing for null, several with commas between."""
    if isinstance(given, list | tuple):
        return ", ".join(filter(None, map(as_text, cast("list[object]", given))))
    return "" if given is None else str(given)


def day(given: object) -> str:
    """The day of a date or moment, of the first where there are several."""
    return given.isoformat()[:10] if isinstance(given, date) else as_text(given).partition(",")[0][:10]
