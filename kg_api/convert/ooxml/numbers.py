"""Automatic numbers in the formats of Word and PowerPoint (ECMA-376, ST_NumberFormat)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

_ROMAN = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")),
    *((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)
_ONES = [
    *("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven"),
    *("Twelve", "Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen", "Nineteen"),
]
_TENS = ["Twenty", "Thirty", "Forty", "Fifty", "Sixty", "Seventy", "Eighty", "Ninety"]
_ORDINALS = {
    "One": "First",
    "Two": "Second",
    "Three": "Third",
    "Five": "Fifth",
    "Eight": "Eighth",
    "Nine": "Ninth",
    "Twelve": "Twelfth",
}
_CHINESE = ("〇一二三四五六七八九", "十百千")
_LEGAL_CHINESE = ("零壹贰叁肆伍陆柒捌玖", "拾佰仟")
_LEGAL_TAIWANESE = ("零壹貳參肆伍陸柒捌玖", "拾佰仟")
_LEGAL_JAPANESE = ("〇壱弐参四伍六七八九", "拾百阡")
_KOREAN = ("영일이삼사오육칠팔구", "십백천")
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщыэюя"
_LETTERS = {
    "upperLetter": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "lowerLetter": "abcdefghijklmnopqrstuvwxyz",
    "russianLower": _RUSSIAN,
    "russianUpper": _RUSSIAN.upper(),
    "chicago": "*†‡§",
    "thaiLetters": "กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ",
    "hebrew2": "אבגדהוזחטיכלמנסעפצקרשת",
}
"""Alphabets whose letters are repeated after the last: a, ..., z, aa, bb."""
_CYCLES = {
    "ideographTraditional": "甲乙丙丁戊己庚辛壬癸",
    "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥",
    "aiueo": "ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜｦﾝ",
    "aiueoFullWidth": "アイウエオカキクケコサシスセソタチツテトナニヌネ"
    "ノハヒフヘホマミムメモヤユヨラリルレロワヲン",
    "iroha": "ｲﾛﾊﾆﾎﾍﾄﾁﾘﾇﾙｦﾜｶﾖﾀﾚｿﾂﾈﾅﾗﾑｳヰﾉｵｸﾔﾏｹﾌｺｴﾃｱｻｷﾕﾒﾐｼヱﾋﾓｾｽ",
    "irohaFullWidth": "イロハニホヘトチリヌルヲワカヨタレソツネナラムウ"
    "ヰノオクヤマケフコエテアサキユメミシヱヒモセス",
    "ganada": "가나다라마바사아자차카타파하",
    "chosung": "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ",
    "arabicAlpha": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "arabicAbjad": "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ",
}
_ENCLOSED = {
    "decimalEnclosedCircle": (0x2460, 20),
    "decimalEnclosedCircleChinese": (0x2460, 20),
    "decimalEnclosedParen": (0x2474, 20),
    "decimalEnclosedFullstop": (0x2488, 20),
    "ideographEnclosedCircle": (0x3280, 10),
}
_DIGITS = {
    "decimalFullWidth": "０１２３４５６７８９",
    "decimalFullWidth2": "０１２３４５６７８９",
    "ideographDigital": _CHINESE[0],
    "japaneseDigitalTenThousand": _CHINESE[0],
    "taiwaneseDigital": _CHINESE[0],
    "koreanDigital": _KOREAN[0],
    "koreanDigital2": _CHINESE[0],
    "thaiNumbers": "๐๑๒๓๔๕๖๗๘๙",
    "hindiNumbers": "०१२३४५६७८९",
    "hindiArabic": "٠١٢٣٤٥٦٧٨٩",
}
_COUNTING = {
    "chineseCounting": _CHINESE,
    "chineseCountingThousand": _CHINESE,
    "taiwaneseCounting": _CHINESE,
    "taiwaneseCountingThousand": _CHINESE,
    "japaneseCounting": _CHINESE,
    "koreanCounting": _KOREAN,
    "chineseLegalSimplified": _LEGAL_CHINESE,
    "ideographLegalTraditional": _LEGAL_TAIWANESE,
    "japaneseLegal": _LEGAL_JAPANESE,
}
_SCALES = ((1000, "thousand"), (100, "hundred"), (10, ""))
_MAX_REPEATED = 30
"""Of one letter: numbers come from a file that anybody may have written."""


def format_number(value: int, form: str, language: str = "en") -> str | None:
    """Return a number as a list shows it; None for a format, or a language of its words, that is unknown.

    Args:
        value: The number.
        form: A value of ST_NumberFormat, or a pattern of a custom format such as `001, 002, 003, ...`.
        language: Language tag of the document, for ordinals and words.
    """
    if plain := re.match(r"0*[0-9]", form):  # a custom format: its first number shows the width
        return str(value).zfill(len(plain[0]))
    if form in _ENGLISH:
        return _ENGLISH[form](value) if value > 0 and language.lower().startswith("en") else None
    shown = _FORMS.get(form)
    return shown(value) if shown and (value > 0 or form in _WITH_ZERO) else None


def _to_roman(value: int) -> str:
    text = ""
    for size, letters in _ROMAN:
        count, value = divmod(value, size)
        text += letters * min(count, _MAX_REPEATED)
    return text


def _repeat_letters(letters: str, value: int) -> str:
    times, at = divmod(value - 1, len(letters))
    return letters[at] * min(times + 1, _MAX_REPEATED)


def _enclose(first: int, count: int, value: int) -> str:
    return chr(first + value - 1) if value <= count else str(value)


def _count(digits: str, units: str, value: int) -> str | None:
    """Numerals of East Asia: 一, 十一, 二十, 一百〇一."""
    if value >= 10 ** (len(units) + 1):
        return None
    text, gap = "", False
    for place in range(len(units), -1, -1):
        digit = value // 10**place % 10
        if digit == 0:
            gap = bool(text)
            continue
        if gap:
            text, gap = text + digits[0], False
        ten = digit == 1 and place == 1 and not text
        text += ("" if ten else digits[digit]) + (units[place - 1] if place else "")
    return text


_FORMS: dict[str, Callable[[int], str | None]] = {
    "none": lambda _: "",
    "decimal": str,
    "decimalHalfWidth": str,
    "decimalZero": "{:02d}".format,
    "numberInDash": "- {} -".format,
    "hex": "{:X}".format,
    "upperRoman": _to_roman,
    "lowerRoman": lambda value: _to_roman(value).lower(),
    **{form: partial(_repeat_letters, letters) for form, letters in _LETTERS.items()},
    **{form: partial(_count, *numerals) for form, numerals in _COUNTING.items()},
    **{form: partial(_enclose, *place) for form, place in _ENCLOSED.items()},
    **{
        form: lambda value, signs=signs: str(value).translate(str.maketrans("0123456789", signs))
        for form, signs in _DIGITS.items()
    },
    **{
        form: lambda value, letters=letters: letters[(value - 1) % len(letters)]
        for form, letters in _CYCLES.items()
    },
}
_WITH_ZERO = frozenset(
    {"none", "decimal", "decimalHalfWidth", "decimalZero", "numberInDash", "hex", *_DIGITS}
)


def _to_ordinal(value: int) -> str:
    teens = value // 10 % 10 == 1
    return f"{value}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"


def _to_words(value: int) -> str:
    if value < len(_ONES):
        return _ONES[value]
    size, name = next(each for each in _SCALES if value >= each[0])
    most, rest = divmod(value, size)
    if not name:
        return _TENS[most - 2] + (f"-{_ONES[rest].lower()}" if rest else "")
    return f"{_to_words(most)} {name}" + (f" {_to_words(rest).lower()}" if rest else "")


def _to_ordinal_words(value: int) -> str:
    words = re.split(r"(?<=[ -])", _to_words(value))
    last = words[-1].capitalize()
    ordinal = _ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return "".join(words[:-1]) + (ordinal.lower() if words[:-1] else ordinal)


_ENGLISH: dict[str, Callable[[int], str]] = {
    "ordinal": _to_ordinal,
    "cardinalText": _to_words,
    "ordinalText": _to_ordinal_words,
}


_AUTOMATIC = re.compile(r"(\w+?)(Period|ParenR|ParenBoth|Plain|Minus)")
_SLIDE_FORMS = {
    "arabic": "decimal",
    "arabicDb": "decimalFullWidth",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
    "circleNumDb": "decimalEnclosedCircle",
    "circleNumWdBlack": "decimalEnclosedCircle",
    "circleNumWdWhite": "decimalEnclosedCircle",
    "ea1Chs": "chineseCounting",
    "ea1Cht": "taiwaneseCounting",
    "ea1JpnKor": "japaneseCounting",
    "ea1JpnChsDb": "japaneseCounting",
    "thaiAlpha": "thaiLetters",
    "thaiNum": "thaiNumbers",
    "hindiNum": "hindiNumbers",
    "hebrew2": "hebrew2",
    "arabic1": "arabicAlpha",
    "arabic2": "arabicAbjad",
}
_MARKS = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})", "Plain": "{}", "Minus": "{}-"}


def format_slide_number(value: int, form: str) -> str | None:
    """Return a number in a format of DrawingML (ST_TextAutonumberScheme), such as `alphaLcParenBoth`."""
    found = _AUTOMATIC.fullmatch(form)
    number = format_number(value, _SLIDE_FORMS.get(found[1], found[1])) if found else None
    return _MARKS[found[2]].format(number) if found and number else None
