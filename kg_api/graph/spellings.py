"""Other spellings of numbers, units, and dates, which a query finds as well.

Examples: `5kg` and `5 kg`, `ISO9001` and `ISO 9001`, `6,254.00` and `6254`, `17.06.2025` and `17 June 2025`.
kg queries both a joined word and a phrase of its parts. A phrase is exact: `5kg` does not find `7 kg`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import Final, NamedTuple

from kg_api.graph.text_analysis import LATIN, OMITTED
from kg_api.normal_form import normalise_text

MAX_VARIANTS = 32
JOINED = 2.0  # weight of one word that joins two words of the query

_DIGIT = re.compile(r"\d")
_NUMBER = r"\d+(?:[.,]\d+)*"
_LETTER = rf"(?:(?=[{LATIN}])[^\W\d_])"
_WORD = re.compile(rf"(?<![^\W_])(?:{_NUMBER}|{_LETTER}+)+(?![^\W_])")
_IS_NUMBER = re.compile(_NUMBER)
_QUANTITY = re.compile(rf"({_NUMBER})({_LETTER}.*)")
_CODE = re.compile(rf"({_LETTER}+)(\d.*)")
_FORMULA = re.compile(rf"(?<![\w.,])({_NUMBER})[/^]({_NUMBER})(?![\w/^])")
_BETWEEN = re.compile(r"\s?[-°^]?\s?")
_THOUSANDS = re.compile(r"([1-9]\d{3,8}|[1-9]\d{0,2}([.,])\d{3}(?:\2\d{3}){0,3})(?:(?!\2)[.,](\d\d?))?")
"""Numbers above 999 with up to two decimals."""
_AMOUNT = re.compile(r"(?<![\w.,])(?:\d+|[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*)(?:(?!\1)[.,]\d\d?)?(?![.,]?\d)")
_DECIMALS = re.compile(r"[.,](\d\d?)\Z")
_SMALL = re.compile(r"([1-9]\d\d?)([.,])(?:([1-9])0|([1-9]))")
"""Numbers from 10 to 999 with one decimal, or with a final zero: `45.9` and `45.90`. `3.10` is a version."""
_YEAR = r"(?:1[5-9]|20)\d\d"
_MAY_BE_YEAR = re.compile(_YEAR)
_IS_YEAR = re.compile(
    rf"(?:\b(?:in|im|en|since|seit|desde|until|bis|year|jahr|año) |[-–/.])({_YEAR})\b"
    rf"|\b({_YEAR})(?:[-–/.]\d|\s?[年년])",
    re.IGNORECASE,
)
"""Numbers that the words or signs next to them mark as a year."""


class Variant(NamedTuple):
    """Another spelling of a part of a query."""

    words: str  # one word, or two words separated by a space
    weight: float = 1.0


def find_variants(question: str) -> list[Variant]:
    """Return other spellings of a query's numbers and adjacent letters, at most 32."""
    normal = normalise_text(question)
    if not _DIGIT.search(normal):  # most questions
        return []
    words = [*_WORD.finditer(normal)]
    separate = [variant for word in words for variant in _separate(word[0])]
    separate += [Variant(" ".join(formula.groups())) for formula in _FORMULA.finditer(normal)]
    dates = find_dates(normal)
    years = {f"{date.year}" for date in dates}.union(*(found.groups() for found in _IS_YEAR.finditer(normal)))
    amounts = (each[0] for each in words if each[0] not in years)
    # A number that may be a year or a version has half the weight
    separate += [
        Variant(other, 0.5 if _MAY_BE_YEAR.fullmatch(word) or _SMALL.fullmatch(word) else 1.0)
        for word in amounts
        for other in respell_number(word)
    ]
    joined = (
        Variant(first[0] + last[0], JOINED)
        for first, last in pairwise(words)
        if _may_join(normal, first, last)
    )
    return [*islice(dict.fromkeys([*separate, *joined, *chain(*map(_spell_date, dates))]), MAX_VARIANTS)]


def respell_number(word: str) -> list[str]:
    """Return the other spellings of a number, such as `6,254.00` of `6254` and `45.9` of `45.90`."""
    if small := _SMALL.fullmatch(word):
        return [f"{small[1]}{small[2]}{small[3] or f'{small[4]}0'}"]
    found = _THOUSANDS.fullmatch(word)
    if found is None:
        return []
    number, cents = int(re.sub("[.,]", "", found[1])), (found[3] or "").rstrip("0")
    dots, commas = f"{number:,}".replace(",", "."), f"{number:,}"
    wholes = ((f"{number}", "."), (f"{number}", ","), (dots, ","), (commas, "."))
    spellings = [
        f"{whole}{point}{decimals}" if decimals else whole
        for decimals in dict.fromkeys([cents, cents.ljust(2, "0")])
        for whole, point in wholes
    ]
    return [each for each in dict.fromkeys(spellings) if each != word]


def write_amounts(text: str) -> str:
    """Write the numbers of a text without thousands separators and final zeros: `6.254,00` as `6254`.

    A date becomes one number: `17 June 2025` as `20250617`.
    """
    normal = normalise_text(text)
    if not _DIGIT.search(normal):
        return normal
    for pattern in _DATES:
        normal = pattern.sub(lambda found: f"{date}" if (date := _read_date(found)) else found[0], normal)
    return _AMOUNT.sub(_write_amount, normal)


def list_amounts(text: str) -> list[str]:
    """List the numbers of a text that `write_amounts` writes otherwise, in this spelling."""
    found = ((each[0], _write_amount(each)) for each in _AMOUNT.finditer(normalise_text(text)))
    return [written for number, written in found if written != number]


def _write_amount(found: re.Match[str]) -> str:
    decimals = ending[1] if (ending := _DECIMALS.search(found[0])) else ""
    whole = re.sub("[.,]", "", found[0].removesuffix(ending[0]) if ending else found[0])
    if len(whole) > 1 or decimals in {"0", "00"}:  # 3.10 is a version, not 3.1
        decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


# Dates in other spellings: `17.06.2025`, `17 June 2025`, `17. Juni 2025`, and `2025-06-17`

_MONTH_NAMES: Final = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
)
_MONTHS: Final = {
    name: number
    for names in _MONTH_NAMES
    for number, full in enumerate(names.split(), start=1)
    for name in ((full,) if names == _MONTH_NAMES[-1] else (full, full[:3]))  # French: juin and juillet
}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))}|sept)\.?"
_DAY = r"(?P<day>[0-3]?\d)"
DECEMBER, LAST_DAY = 12, 31
_DATES: Final = tuple(
    re.compile(rf"(?<![^\W_])(?<!\d[-./]){pattern}(?![^\W_]|[-./]\d)", re.IGNORECASE)
    for pattern in (
        rf"(?P<year>{_YEAR})(?P<iso>[-./_])(?P<month>[01]?\d)(?P=iso){_DAY}",
        rf"{_DAY}(?P<sign>[-./])\s?(?P<month>[0-3]?\d)(?P=sign)\s?(?P<year>{_YEAR})",
        rf"(?:{_DAY}(?:\.|st|nd|rd|th|er)?\s(?:(?:of|de)\s)?)?{_MONTH},?\s(?:del?\s)?(?P<year>{_YEAR})",
        rf"{_MONTH}\s{_DAY}(?:st|nd|rd|th)?,?\s(?P<year>{_YEAR})",
    )
)


class Date(NamedTuple):
    """Day, or a month if `day` is 0."""

    year: int
    month: int
    day: int

    def __str__(self) -> str:
        """Return a number such as `20250617`."""
        return f"{self.year}{self.month:02}" + (f"{self.day:02}" if self.day else "")


def find_dates(text: str) -> list[Date]:
    """Find the distinct days and months of a text that name their year."""
    found = (_read_date(each) for pattern in _DATES for each in pattern.finditer(normalise_text(text)))
    return [*dict.fromkeys(each for each in found if each)]


def _read_date(found: re.Match[str]) -> Date | None:
    """Return the date, or None if it does not exist or its order is unknown: `05/06/2025`."""
    groups = found.groupdict()
    name, day = groups["month"].lower(), int(groups["day"] or 0)
    month = int(name) if name.isdecimal() else _MONTHS[name[:3] if name == "sept" else name]
    if groups.get("sign") == "/" and day != month:
        if max(day, month) <= DECEMBER:
            return None
        day, month = max(day, month), min(day, month)
    return Date(int(groups["year"]), month, day) if 1 <= month <= DECEMBER and day <= LAST_DAY else None


def _spell_date(date: Date) -> list[Variant]:
    """List the phrases that find a date. The index contains `17.06.2025` also as `17 06 2025`."""
    year, month, day = date
    plain, padded, last = (f"{day} ", f"{day:02} ", f" {day:02}") if day else ("", "", "")
    english, german, spanish, french = (names.split()[month - 1] for names in _MONTH_NAMES)
    shown = (english, english[:3])
    spellings = (
        f"{year} {month:02}{last}",
        *(f"{padded}{month:02} {year}", f"{plain}{month} {year}"),
        *(f"{plain}{name} {year}" for name in (*shown, german, french, spanish)),
        *(f"{name} {day} {year}" for name in shown if day),
        f"{plain and f'{day} de '}{spanish} de {year}",
    )
    return [Variant(each) for each in dict.fromkeys(spellings)]


def _separate(word: str) -> Iterator[Variant]:
    """Yield the spelling with a space. The index ignores `a` and `in`, so only `16` remains of `16 A`."""
    if quantity := _QUANTITY.fullmatch(word):
        number, unit = quantity.groups()
        yield Variant(number, 0.5) if unit.lower() in OMITTED else Variant(f"{number} {unit}")
    elif (code := _CODE.fullmatch(word)) and code[1].lower() not in OMITTED:
        yield Variant(f"{code[1]} {code[2]}")


def _may_join(text: str, first: re.Match[str], last: re.Match[str]) -> bool:
    if _BETWEEN.fullmatch(text, first.end(), last.start()) is None:
        return False
    if _IS_NUMBER.fullmatch(first[0]):
        return not last[0][0].isdecimal()
    is_preposition = len(first[0]) > 1 and first[0].lower() in OMITTED  # `in 2024` is not a code
    return first[0].isalpha() and not is_preposition and _IS_NUMBER.fullmatch(last[0]) is not None
