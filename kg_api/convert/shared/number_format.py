"""Numbers of XLSX cells with the information of their number format, in one international notation.

A format adds meaning: date, percent sign, currency, unit, leading zeros. It never changes digits. Rounded and
scaled numbers keep all digits of the file, and kg appends no decimals. Dates are ISO 8601, decimals have a
point, and thousands are not grouped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
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
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)[^\]]*\]|(?P<elapsed>\[[hmsHMS]+\])'
    r"|(?P<condition>\[[<>=][^\]]*\])|\[[^\]]*\]"
    r"|(?P<sign>(?i:General)|[Ee][+-]|AM/PM|A/P|上午/下午|.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"\[(<=|>=|<>|[<>=])\s*(-?\d+(?:\.\d+)?)\s*\]")
_COMPARE = {"<": lt, "<=": le, "=": eq, "<>": ne, ">=": ge, ">": gt}
_USUAL_CONDITIONS = ("[>0]", "[<0]", "")  # of the parts for numbers. A fourth part is for text
_SIGNS = " -–—+()"  # text of a part that is not a word
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
    has_digits: bool = True  # False: shows only a word, after which kg writes the number
    parts: tuple[tuple[str, Decimal, NumberFormat], ...] = ()
    """Comparison and limit of the numbers that another part is for, and this part."""


_Token = tuple[str, str]  # group of the pattern, text
GENERAL = NumberFormat()


@lru_cache(maxsize=4096)
def parse_number_format(code: str) -> NumberFormat:
    """Parse a format code such as `#,##0.00 [$€-407];[Red]-#,##0.00`."""
    found = [(each.lastgroup or "", each[each.lastgroup or 0]) for each in _TOKEN.finditer(code)]
    parts: list[list[_Token]] = [[]]
    for token in found:
        if token == ("sign", ";"):
            parts.append([])
        elif token[0]:
            parts[-1].append(token)
    first, *others = forms = [_parse_part(part) for part in parts[: len(_USUAL_CONDITIONS)]]
    if first.kind != "number":
        return first
    if any(kind == "condition" for kind, _ in found):
        return _combine_conditions(parts, forms)
    named = [
        (sign, Decimal(0), _put_minus(form) if sign == "<" else form)
        for sign, form in zip("<=", others, strict=False)
        if (words := _get_words(form)) and words != _get_words(first)
    ]
    return replace(first, parts=tuple(named))


def _combine_conditions(parts: Sequence[Sequence[_Token]], forms: Sequence[NumberFormat]) -> NumberFormat:
    """Combine the parts of a format such as `[=1]0" item";0" items"`. The last is for all other numbers."""
    cases, rest = list[tuple[str, Decimal, NumberFormat]](), GENERAL
    for at, (part, form) in enumerate(zip(parts, forms, strict=False)):
        usual = _USUAL_CONDITIONS[at] if at + 1 < len(forms) else ""
        found = _CONDITION.fullmatch(next((text for kind, text in part if kind == "condition"), usual))
        if found:
            sign, limit = found[1], Decimal(found[2])
            cases.append((sign, limit, _put_minus(form) if sign == "<" and limit <= 0 else form))
        elif at:
            rest = form
    return replace(rest, parts=tuple(cases))


def _put_minus(form: NumberFormat) -> NumberFormat:
    """Put a minus before the digits, because programs show none in a part for negative numbers."""
    return replace(form, before=f"{form.before}-") if form.has_digits and "-" not in form.before else form


def _get_words(form: NumberFormat) -> str:
    return f"{form.before} {form.after}".strip(_SIGNS)


def _parse_part(tokens: Sequence[_Token]) -> NumberFormat:
    tokens = [token for token in tokens if token[0] != "condition"]
    signs = [text if kind == "sign" else "" for kind, text in tokens]
    signs = ["General" if each.lower() == "general" else each for each in signs]
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
    if not numbers:
        word = "" if "@" in signs else "".join(text for _, text in tokens).strip()
        return NumberFormat(word, has_digits=False) if word.strip(_SIGNS) else GENERAL
    # kg does not scale to thousands, because a wrong unit is worse than none.
    if signs[numbers[-1] + 1 :][:1] == [","]:
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


def format_number(literal: str, form: NumberFormat, *, since_1904: bool = False) -> str:
    """Write the number of a cell in its format, with all digits of the file."""
    if form.kind != "number":
        return _format_moment(literal, form, since_1904=since_1904)
    if form == GENERAL:
        return write_digits(literal)
    try:
        value = Decimal(literal)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        return literal
    for sign, limit, part in form.parts:
        if _COMPARE[sign](value, limit):
            return format_number(literal, part)
    if not form.has_digits:
        return f"{form.before} ({write_digits(literal)})"
    sign = "-" if value < 0 and "-" not in form.before else ""
    digits = write_digits(literal).lstrip("-")
    if form.percent:
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
