"""Numbers of XLSX cells with what their number format says of them, in one notation for all countries.

A format adds meaning: date, percent sign, currency, unit, leading zeros. It never changes digits: rounded and
scaled numbers keep all that the file stores, and no decimals are appended. Dates are ISO 8601, decimals have
a point, and thousands are not grouped.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache

_BUILTIN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    14: "yyyy-mm-dd",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "yyyy-mm-dd h:mm",
    37: "#,##0",
    38: "#,##0",
    39: "#,##0.00",
    40: "#,##0.00",
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
    49: "@",
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), "yyyy-mm-dd"),
    **dict.fromkeys((*range(32, 36), 55, 56), "h:mm:ss"),
}
"""Formats that files name by number only; those of East Asia as the kind that they are."""

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[(?P<bracket>[^\]]*)\]|(?P<general>General)'
    r"|(?P<scientific>[Ee][+-])|(?P<clock>AM/PM|A/P|上午/下午)|(?P<other>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[\d.]+(?:[Ee][+-]?\d+)?)")
_COMPARISONS = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_INTEGER = re.compile(r"(-?\d+)(?:\.0*)?")
_EXCEL_DIGITS = Context(prec=15)
"""Excel computes with 15 significant digits; what a file stores beyond is the noise of binary numbers."""
_PLAIN = range(-7, 21)
"""Exponents of ten up to which a number is written without one."""
_YEAR_DAYS = 366
_FIRST_DAY = date(1899, 12, 30).toordinal()
_LEAST_DAY = "10000"
"""In 1927; five digits last until 2173."""
_DIGITS = frozenset("0#?")
_SHOWN = frozenset({"literal", "percent"})
_ROLES = {
    **dict.fromkeys(_DIGITS, "digit"),
    ".": "point",
    ",": "comma",
    "/": "fraction",
    "@": "text",
    "%": "percent",
}


@dataclass(frozen=True, slots=True)
class _Section:
    """One of up to four parts of a format: positive, negative, zero, text."""

    before: str
    after: str
    mask: tuple[str, ...] = ()
    """Placeholders of whole digits and the text between them, such as `000-0000`; empty if there is none."""
    has_number: bool = False
    whole: int = 1
    percent: int = 0
    condition: tuple[str, float] | None = None
    has_text: bool = False
    is_usual: bool = False
    """Whether a number that is not negative is shown as it is between `before` and `after`."""
    is_dash: bool = False
    """Whether it shows a dash for zero, as formats of accounts do."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A number format of a workbook, read once for all its cells."""

    sections: tuple[_Section, ...]
    is_date: bool = False
    is_time: bool = False
    elapsed: str = ""
    """The largest unit of a duration: h, m or s."""
    fractions: bool = False
    """Whether it shows parts of a second."""


GENERAL = NumberFormat(())


@lru_cache(maxsize=4096)
def parse_number_format(code: str) -> NumberFormat:
    """Read a format code such as `#,##0.00 [$€-407];[Red]-#,##0.00`."""
    parts: list[list[tuple[str, str]]] = [[]]
    for found in _TOKEN.finditer(code):
        kind = found.lastgroup or ""
        text = found[kind] if kind else ""
        if kind == "other" and text == ";":
            parts.append([])
        elif kind:
            parts[-1].append((kind, text))
    marks = "".join(text.lower() for kind, text in parts[0] if kind == "other")
    units = {
        text.lower()[0]
        for kind, text in parts[0]
        if kind == "bracket" and re.fullmatch("[hms]+", text, re.IGNORECASE)
    }
    has_clock = any(kind == "clock" for kind, _ in parts[0])
    has_digits = bool(re.search("[0#?]", re.sub(r"s[.,]0+", "", marks)))  # `0.00 EUR` is no date
    is_general = any(kind == "general" for kind, _ in parts[0])
    if not (is_general or has_digits) and (units or has_clock or re.search("[ymdhsegb]", marks)):
        is_time = bool(units or has_clock or set(marks) & set("hs"))
        return NumberFormat(
            sections=(),
            is_date=bool(set(marks) & set("ydegb")) or ("m" in marks and not is_time),
            is_time=is_time,
            elapsed=next((unit for unit in "hms" if unit in units), ""),
            fractions=bool(re.search(r"s\.0", marks)),
        )
    first, *others = map(_read_section, parts[:4])
    is_usual = (
        first.has_number
        and not (first.mask or first.is_dash or first.has_text or "(" in first.before)
        and first.whole == 1
        and sum(not each.has_text for each in others[:2]) < 2  # noqa: PLR2004 - none for zero
        and not any(each.condition for each in (first, *others))
    )
    return NumberFormat((replace(first, is_usual=is_usual), *others))


def find_builtin_format(number: int) -> NumberFormat:
    """Return the format that a file names by its number."""
    return parse_number_format(_BUILTIN[number]) if number in _BUILTIN else GENERAL


def _read_section(tokens: list[tuple[str, str]]) -> _Section:
    condition = next(
        (
            (said[1], float(said[2]))
            for kind, text in tokens
            if kind == "bracket" and (said := _CONDITION.fullmatch(text))
        ),
        None,
    )
    marks = [_find_role(kind, text) for kind, text in tokens]
    numbers = [at for at, (role, _) in enumerate(marks) if role in {"digit", "general"}]
    first = next(
        (at for at, (role, _) in enumerate(marks) if role in {"digit", "general", "text"}), len(marks)
    )
    plain = next(
        (at for at, (role, _) in enumerate(marks) if role in {"fraction", "exponent"} and at > first), None
    )
    if plain is not None:  # digits of a denominator or an exponent
        last = max(
            (at for at, (_, text) in enumerate(marks) if text.isdecimal() or text in {"#", "?"}),
            default=first,
        )
    else:
        last = numbers[-1] if numbers else first
    point = next((at for at, (role, _) in enumerate(marks) if role == "point" and at > first), len(marks))
    whole = [at for at in numbers if at < point]
    mask = [
        text
        for role, text in marks[first : point if point < last else last + 1]
        if role in {"digit", "literal"}
    ]
    before = "".join(text for role, text in marks[:first] if role in _SHOWN)
    after = "".join(text for role, text in marks[last + 1 :] if role in _SHOWN)
    is_scaled = any(role == "comma" and at > max(whole, default=at) for at, (role, _) in enumerate(marks))
    if is_scaled:  # thousands or millions: the number is kept, so that its unit would be wrong
        before, after = _keep_currency(before), _keep_currency(after)
    percent = sum(role == "percent" for role, _ in marks)
    is_masked = any(text not in _DIGITS and text.strip(" '\u00a0\u202f") for text in mask)
    return _Section(
        before=before,
        after=after,
        mask=tuple(mask) if is_masked and point > last and plain is None and not percent else (),
        has_number=bool(numbers),
        whole=1 if plain is not None else max(sum(marks[at][1] == "0" for at in whole), 1),
        percent=percent,
        condition=condition,
        has_text=any(role == "text" for role, _ in marks),
        is_dash="?" in mask and "0" not in mask and before.rstrip().endswith("-"),
    )


def _find_role(kind: str, text: str) -> tuple[str, str]:
    """Return what a token of a section does; a literal comes with what it shows."""
    if kind == "general":
        return "general", ""
    if kind == "scientific":
        return "exponent", ""
    if kind == "bracket":
        return "literal", text[1:].partition("-")[0] if text.startswith("$") else ""
    return (_ROLES.get(text, "literal") if kind == "other" else "literal"), text


def _keep_currency(text: str) -> str:
    return "".join(re.findall(r"[$€£¥₹₩₽₴฿₺]|\b[A-Z]{3}\b", text))


def format_number(literal: str, form: NumberFormat = GENERAL, *, since_1904: bool = False) -> str:
    """Return the number of a cell as a reader sees it."""
    if form.is_date or form.is_time:
        return _format_moment(literal, form, since_1904=since_1904)
    if not form.sections:
        return write_digits(literal)
    section = form.sections[0]
    if section.is_usual and literal.replace(".", "", 1).isdecimal():
        if section.percent:
            literal = f"{float(literal) * 100**section.percent:.15g}"
        return f"{section.before}{write_digits(literal)}{section.after}".strip()
    try:
        value = Decimal(literal)
    except InvalidOperation:
        return literal
    return (
        _fill_section(_choose_section(form.sections, value), literal, value) if value.is_finite() else literal
    )


def _fill_section(section: _Section, literal: str, value: Decimal) -> str:
    before, after = section.before, section.after
    if not section.has_number:
        return (before + after).strip() if any(map(str.isalnum, before + after)) else write_digits(literal)
    if "(" in before and ")" in after:  # a negative number of an account
        before, after = before.replace("(", "", 1), after.replace(")", "", 1)
    if not value and section.is_dash:
        before = re.sub(r"-\s*$", "", before)
    sign = "-" if value < 0 and not re.search("[-−–]", before + after) else ""
    digits = write_digits(literal).lstrip("-")
    if section.percent:
        digits = write_digits(str(abs(_EXCEL_DIGITS.plus(value)).scaleb(2 * section.percent)))
    if section.mask and digits.isdecimal():
        # Put digits into `000-00-0000` from the right; the first place takes all that are left
        shown, left = list[str](), digits
        places = sum(each in _DIGITS for each in section.mask)
        for each in reversed(section.mask):
            if each not in _DIGITS:
                shown.append(each)
                continue
            places -= 1
            taken, left = (left, "") if not places else (left[-1:], left[:-1])
            shown.append(taken or ("0" if each == "0" else ""))
        digits = "".join(reversed(shown))
    elif "E" not in digits:
        whole, point, decimals = digits.partition(".")
        digits = whole.rjust(section.whole, "0") + point + decimals
    return f"{sign}{before}{digits}{after}".strip()


def format_text(text: str, form: NumberFormat) -> str:
    """Return the text of a cell with what its format writes around text, such as `@" (draft)"`."""
    section = form.sections[-1] if form.sections else None
    if section is None or not section.has_text or not (section.before or section.after):
        return text
    return f"{section.before}{text}{section.after}"


def write_digits(literal: str) -> str:
    """Return a number without format: no digit of a whole one is lost, noise of a binary one is not shown."""
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


def _choose_section(sections: tuple[_Section, ...], value: Decimal) -> _Section:
    numbers = [each for each in sections[:3] if not each.has_text] or list(sections[:1])
    if any(each.condition for each in numbers):
        for each in numbers:
            sign, bound = each.condition or ("<", float("inf"))
            if each.condition is None or _COMPARISONS[sign](float(value), bound):
                return each
        return numbers[-1]
    if value < 0 and len(numbers) > 1:
        return numbers[1]
    return numbers[2] if value == 0 and len(numbers) > 2 else numbers[0]  # noqa: PLR2004 - the zero section


def _format_moment(literal: str, form: NumberFormat, *, since_1904: bool) -> str:
    is_day = len(literal) == len(_LEAST_DAY) and literal >= _LEAST_DAY and literal.isdecimal()
    if is_day and form.is_date and not (form.elapsed or since_1904):
        return date.fromordinal(_FIRST_DAY + int(literal)).isoformat()  # quick: nearly all dates
    try:
        days = float(literal)
    except ValueError:
        return literal
    seconds = round(days * 86_400, 3) if form.fractions else float(round(days * 86_400))
    if form.elapsed:
        return format_duration(seconds)
    if not form.is_date and 0 <= days < _YEAR_DAYS:  # a time of day; a date that it hides is read below
        return format_duration(seconds % 86_400)
    # Excel counts 29 February 1900, which was none: its first 60 days lie one day before the others.
    epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 31 if days < 60 else 30)  # noqa: DTZ001, PLR2004
    try:
        moment = epoch + timedelta(seconds=seconds)
    except OverflowError:
        moment = None
    return write_digits(literal) if days < 0 or moment is None else format_datetime(moment)


def format_datetime(moment: datetime) -> str:
    """Return ISO 8601 with a blank between date and time; midnight is a date only."""
    if moment.hour == moment.minute == moment.second == moment.microsecond == 0:
        return moment.date().isoformat()
    shown = moment.isoformat(" ")
    return shown.rstrip("0") if moment.microsecond else shown


def format_duration(seconds: float) -> str:
    """Return hours, minutes and seconds; hours go beyond 24."""
    thousandths = round(abs(seconds) * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    whole, part = divmod(rest, 1000)
    shown = f"{minutes // 60:02}:{minutes % 60:02}:{whole:02}"
    if part:
        shown += f".{part:03}".rstrip("0")
    return f"-{shown}" if seconds < 0 and thousandths else shown
