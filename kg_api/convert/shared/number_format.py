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
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[(?P<bracket>[^\]]*)\]|(?P<general>General)'
    r"|(?P<exponent>[Ee][+-])|(?P<clock>AM/PM|A/P|上午/下午)|(?P<other>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"\[[<>=]")
_INTEGER = re.compile(r"(-?\d+)(?:\.0*)?")
_EXCEL_DIGITS = Context(prec=15)
"""Excel computes with 15 significant digits. Further digits in a file are binary rounding noise."""
_PLAIN = range(-7, 21)  # powers of ten of numbers without exponent notation
_YEAR_DAYS = 366


@dataclass(frozen=True, slots=True)
class _Section:
    """One of up to four parts of a format: positive, negative, zero, text."""

    before: str
    after: str
    has_number: bool = False
    whole: int = 1
    percent: int = 0
    has_text: bool = False


@dataclass(frozen=True, slots=True)
class NumberFormat:
    sections: tuple[_Section, ...]
    kind: Literal["number", "date", "time", "duration"] = "number"
    fractions: bool = False  # shows fractions of a second


GENERAL = NumberFormat(())


@lru_cache(maxsize=4096)
def parse_number_format(code: str) -> NumberFormat:
    """Parse a format code such as `#,##0.00 [$€-407];[Red]-#,##0.00`."""
    parts: list[list[tuple[str, str]]] = [[]]
    for found in _TOKEN.finditer(code):
        kind = found.lastgroup or ""
        text = found[kind] if kind else ""
        if kind == "other" and text == ";":
            parts.append([])
        elif kind:
            parts[-1].append((kind, text))
    marks = "".join(text.lower() for kind, text in parts[0] if kind == "other")
    is_elapsed = any(
        kind == "bracket" and re.fullmatch("[hms]+", text, re.IGNORECASE) for kind, text in parts[0]
    )
    has_clock = any(kind == "clock" for kind, _ in parts[0])
    has_digits = bool(re.search("[0#?]", re.sub(r"s[.,]0+", "", marks)))  # `0.00 EUR` is not a date
    is_general = any(kind == "general" for kind, _ in parts[0])
    if not (is_general or has_digits) and (is_elapsed or has_clock or re.search("[ymdhsegb]", marks)):
        has_time = is_elapsed or has_clock or bool(set(marks) & set("hs"))
        is_date = bool(set(marks) & set("ydegb")) or ("m" in marks and not has_time)
        kind = "duration" if is_elapsed else "date" if is_date else "time"
        return NumberFormat((), kind, fractions=bool(re.search(r"s\.0", marks)))
    if _CONDITION.search(code):  # kg does not evaluate conditions, because a wrong unit is worse than none
        return GENERAL
    return NumberFormat(tuple(map(_read_section, parts[:4])))


def find_builtin_format(number: int) -> NumberFormat:
    return parse_number_format(_BUILTIN[number]) if number in _BUILTIN else GENERAL


def _read_section(tokens: list[tuple[str, str]]) -> _Section:
    signs = [text if kind == "other" else "" for kind, text in tokens]
    is_plain = "/" in signs or any(kind == "exponent" for kind, _ in tokens)
    digits = "#?0123456789/" if is_plain else "#?0"
    numbers = [
        at for at, (kind, _) in enumerate(tokens) if kind == "general" or (signs[at] and signs[at] in digits)
    ]
    places = numbers or [at for at, sign in enumerate(signs) if sign == "@"] or [len(tokens)]
    point = signs.index(".", places[0]) if "." in signs[places[0] :] else len(signs)
    whole = [at for at in numbers if at < point]

    def show(part: list[tuple[str, str]]) -> str:
        shown = ""
        for kind, text in part:
            if kind == "bracket":  # a currency and a locale
                shown += text[1:].partition("-")[0] if text.startswith("$") else ""
            elif kind in {"quoted", "escaped"} or (kind == "other" and text not in ".,@"):
                shown += text
        return shown

    before, after = show(tokens[: places[0]]), show(tokens[places[-1] + 1 :])
    if whole and "," in signs[whole[-1] + 1 :]:
        # Scaling to thousands or millions: kg keeps the number, so the unit would be wrong.
        before, after = _keep_currency(before), _keep_currency(after)
    if ")" not in after:
        before = before.replace("(", "")
    return _Section(
        before=before,
        after=after,
        has_number=bool(numbers),
        whole=1 if is_plain else max(sum(signs[at] == "0" for at in whole), 1),
        percent=signs.count("%"),
        has_text="@" in signs,
    )


def _keep_currency(text: str) -> str:
    return "".join(re.findall(r"[$€£¥₹₩₽₴฿₺]|\b[A-Z]{3}\b", text))


def format_number(literal: str, form: NumberFormat = GENERAL, *, since_1904: bool = False) -> str:
    """Return the number of a cell with its format and all digits of the file."""
    if form.kind != "number":
        return _format_moment(literal, form, since_1904=since_1904)
    if not form.sections:
        return write_digits(literal)
    try:
        value = Decimal(literal)
    except InvalidOperation:
        return literal
    numbers = [each for each in form.sections[:3] if not each.has_text] or form.sections[:1]
    at = 1 if value < 0 else 2 if value == 0 else 0
    section = numbers[at] if at < len(numbers) else numbers[0]
    before, after = section.before, section.after
    if not section.has_number:
        return (before + after).strip() if any(map(str.isalnum, before + after)) else write_digits(literal)
    if "(" in before and ")" in after:  # a negative number in accounting notation
        before, after = before.replace("(", "", 1), after.replace(")", "", 1)
    if not value and before.strip() == "-":  # a dash for zero in accounting formats
        before = ""
    sign = "-" if value < 0 and not re.search("[-−–]", before + after) else ""
    digits = write_digits(literal).lstrip("-")
    if section.percent and value.is_finite():
        digits = write_digits(str(abs(_EXCEL_DIGITS.plus(value)).scaleb(2 * section.percent)))
    if "E" not in digits:
        whole, point, decimals = digits.partition(".")
        digits = whole.rjust(section.whole, "0") + point + decimals
    return f"{sign}{before}{digits}{after}".strip()


def format_text(text: str, form: NumberFormat) -> str:
    """Return the text of a cell with the text of its format, such as `@" (draft)"`."""
    section = form.sections[-1] if form.sections else None
    if section is None or not section.has_text or not (section.before or section.after):
        return text
    return f"{section.before}{text}{section.after}"


def write_digits(literal: str) -> str:
    """Return a number without format, with all digits of an integer and without binary rounding noise."""
    try:
        shown = literal if literal.isdecimal() else f"{float(literal):.15g}"
        is_fraction = "." in shown and "e" not in shown
        if not is_fraction and (whole := _INTEGER.fullmatch(literal)):
            return whole[1]
        if is_fraction or shown.strip("-").isdecimal():
            return shown
        value = Decimal(literal)
    except (ValueError, InvalidOperation):
        return literal
    if not value.is_finite():
        return literal
    value = value.normalize(_EXCEL_DIGITS)
    if value.adjusted() in _PLAIN or not value:
        return f"{value:f}"
    return f"{value:E}"


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
    shown = moment.isoformat(" ")
    return shown.rstrip("0") if moment.microsecond else shown


def format_duration(seconds: float) -> str:
    """Return hours, minutes, and seconds. Hours can exceed 24."""
    thousandths = round(abs(seconds) * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    whole, part = divmod(rest, 1000)
    shown = f"{minutes // 60:02}:{minutes % 60:02}:{whole:02}"
    if part:
        shown += f".{part:03}".rstrip("0")
    return f"-{shown}" if seconds < 0 and thousandths else shown
