"""Numbers of XLSX cells with the information of their number format, in one international notation.

A format adds meaning: date, percent sign, currency, unit, leading zeros. It never changes digits. Rounded and
scaled numbers keep all digits of the file, and kg appends no decimals. Dates are ISO 8601, decimals have a
point, and thousands are not grouped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from itertools import takewhile
from typing import Literal

_BUILTIN = {
    **dict.fromkeys((9, 10), "0%"),
    **dict.fromkeys((*range(14, 18), 22, *range(27, 32), 36, *range(50, 55), 57, 58), "yyyy-mm-dd"),
    **dict.fromkeys((*range(18, 22), *range(32, 36), 45, 55, 56), "h:mm:ss"),
    46: "[h]:mm:ss",
    47: "mm:ss.0",
}
"""Formats with only a number in files, by their kind. Others change nothing that kg shows."""

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)[^\]]*\]|(?P<elapsed>\[[hmsHMS]+\])|\[[^\]]*\]'
    r"|(?P<sign>General|[Ee][+-]|AM/PM|A/P|上午/下午|.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"\[[<>=]")
_INTEGER = re.compile(r"(-?\d+)(?:\.0*)?")
_EXCEL_DIGITS = Context(prec=15)
"""Excel computes with 15 significant digits. Further digits in a file are binary rounding noise."""
_PLAIN = range(-7, 21)  # powers of ten of numbers without exponent notation
_YEAR_DAYS = 366


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """Text around a number, from the part of its format for positive numbers."""

    before: str = ""
    after: str = ""
    whole: int = 1  # minimum digits before the point
    percent: int = 0
    kind: Literal["number", "date", "time", "duration"] = "number"
    fractions: bool = False  # shows fractions of a second


GENERAL = NumberFormat()


@lru_cache(maxsize=4096)
def parse_number_format(code: str) -> NumberFormat:
    """Parse a format code such as `#,##0.00 [$€-407];[Red]-#,##0.00`."""
    found = [(each.lastgroup or "", each[each.lastgroup or 0]) for each in _TOKEN.finditer(code)]
    tokens = [
        *takewhile(lambda token: token != ("sign", ";"), ((kind, text) for kind, text in found if kind))
    ]
    signs = [text if kind == "sign" else "" for kind, text in tokens]
    marks = "".join(signs).lower()
    is_elapsed = any(kind == "elapsed" for kind, _ in tokens)
    has_digits = bool(re.search("general|[0#?]", re.sub(r"s[.,]0+", "", marks)))  # `0.00 EUR` is not a date
    if not has_digits and (is_elapsed or re.search("[ymdhsegb上]", marks)):
        has_time = is_elapsed or bool(re.search("[hs上]|a/p|am/pm", marks))
        is_date = bool(re.search("[ydegb]", marks)) or ("m" in marks and not has_time)
        kind = "duration" if is_elapsed else "date" if is_date else "time"
        return NumberFormat(kind=kind, fractions=bool(re.search(r"s\.0", marks)))
    is_plain = "/" in signs or any(each[0] in "Ee" for each in signs if each[1:] and each != "General")
    digits = "#?0123456789/" if is_plain else "#?0"
    numbers = [at for at, sign in enumerate(signs) if sign == "General" or (sign and sign in digits)]
    # kg does not evaluate conditions and scaling to thousands, because a wrong unit is worse than none.
    if not numbers or _CONDITION.search(code) or signs[numbers[-1] + 1 :][:1] == [","]:
        return GENERAL
    before, after = (
        "".join(text for kind, text in part if kind != "sign" or text not in ".,@")
        for part in (tokens[: numbers[0]], tokens[numbers[-1] + 1 :])
    )
    point = signs.index(".") if "." in signs else len(signs)
    return NumberFormat(
        before.replace("(", ""),
        after.replace(")", ""),
        1 if is_plain else max(sum(signs[at] == "0" for at in numbers if at < point), 1),
        signs.count("%"),
    )


def find_builtin_format(number: int) -> NumberFormat:
    return parse_number_format(_BUILTIN[number]) if number in _BUILTIN else GENERAL


def format_number(literal: str, form: NumberFormat = GENERAL, *, since_1904: bool = False) -> str:
    """Write the number of a cell in its format, with all digits of the file."""
    if form.kind != "number":
        return _format_moment(literal, form, since_1904=since_1904)
    if form == GENERAL:
        return write_digits(literal)
    try:
        value = Decimal(literal)
    except InvalidOperation:
        return literal
    sign = "-" if value < 0 and "-" not in form.before else ""
    digits = write_digits(literal).lstrip("-")
    if form.percent and value.is_finite():
        digits = write_digits(str(abs(_EXCEL_DIGITS.plus(value)).scaleb(2 * form.percent)))
    if "E" not in digits:
        whole, point, decimals = digits.partition(".")
        digits = whole.rjust(form.whole, "0") + point + decimals
    return f"{sign}{form.before}{digits}{form.after}".strip()


def write_digits(literal: str) -> str:
    """Write a number without format, with all digits of an integer and without binary rounding noise."""
    if whole := _INTEGER.fullmatch(literal):
        return whole[1]
    try:
        value = Decimal(literal)
    except InvalidOperation:
        return literal
    if not value.is_finite():
        return literal
    value = value.normalize(_EXCEL_DIGITS)
    return f"{value:f}" if value.adjusted() in _PLAIN or not value else f"{value:E}"


def _format_moment(literal: str, form: NumberFormat, *, since_1904: bool) -> str:
    try:
        days = float(literal)
    except ValueError:
        return literal
    seconds = round(days * 86_400, 3) if form.fractions else float(round(days * 86_400))
    if form.kind == "duration":
        return format_duration(seconds)
    if form.kind == "time" and 0 <= days < _YEAR_DAYS:  # a time of day (the code below handles a hidden date)
        return format_duration(seconds % 86_400)
    # Excel counts 29 February 1900, which did not exist, so its first 60 days need another epoch.
    epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 31 if days < 60 else 30)  # noqa: DTZ001, PLR2004
    try:
        moment = epoch + timedelta(seconds=seconds)
    except OverflowError:
        moment = None
    return write_digits(literal) if days < 0 or moment is None else format_datetime(moment)


def format_datetime(moment: datetime) -> str:
    """Return ISO 8601 with a space between date and time (midnight: the date only)."""
    if moment.hour == moment.minute == moment.second == moment.microsecond == 0:
        return moment.date().isoformat()
    formatted = moment.isoformat(" ")
    return formatted.rstrip("0") if moment.microsecond else formatted


def format_duration(seconds: float) -> str:
    """Return hours, minutes, and seconds. Hours can exceed 24."""
    thousandths = round(abs(seconds) * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    whole, part = divmod(rest, 1000)
    formatted = f"{minutes // 60:02}:{minutes % 60:02}:{whole:02}"
    if part:
        formatted += f".{part:03}".rstrip("0")
    return f"-{formatted}" if seconds < 0 and thousandths else formatted
