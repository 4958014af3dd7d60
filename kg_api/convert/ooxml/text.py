"""Runs of text, list numbers and symbol fonts of Office files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Literal

from kg_api.convert.shared.markdown_text import MarkdownWriter, lower_text, paragraph, raise_text

Script = Literal["", "raised", "lowered"]


class InlineText:
    """Runs of a paragraph; equal neighbours are shown as one, as Office cuts them anywhere."""

    def __init__(self) -> None:
        self._runs: list[tuple[str, Script, bool]] = []

    def add(self, text: str, script: Script = "", *, struck: bool = False) -> None:
        if text:
            self._runs.append((text, script, struck))

    @property
    def size(self) -> int:
        """How many runs were added."""
        return len(self._runs)

    def render(self) -> str:
        """Return Markdown: `10⁶`, `~~499~~ 399`; line breaks stay."""
        return "".join(
            strike_text(_render_scripts(runs)) if struck else _render_scripts(runs)
            for struck, runs in (
                (key, list(runs)) for key, runs in groupby(self._runs, key=lambda run: run[2])
            )
        )


def _render_scripts(runs: list[tuple[str, Script, bool]]) -> str:
    shown = {"raised": raise_text, "lowered": lower_text}
    parts = (
        (script, "".join(run[0] for run in same)) for script, same in groupby(runs, key=lambda run: run[1])
    )
    return "".join(shown[script](text) if script and text.strip() else text for script, text in parts)


def strike_text(text: str) -> str:
    """Mark text as struck out."""
    words = text.strip()
    if not words:
        return text
    at = text.index(words)
    return f"{text[:at]}~~{' '.join(words.split())}~~{text[at + len(words) :]}"


# Items of lists with the numbers that Office shows.

_MARKDOWN_NUMBER = re.compile(r"[0-9]{1,9}[.)]")
_MAX_LEVELS = 6
"""Lists in lists: Markdown's parser ends at ten."""
BULLET = "•"


class ListWriter:
    """Writes items, each indented below the item of the level above."""

    def __init__(self, writer: MarkdownWriter) -> None:
        self._writer = writer
        self._open: list[tuple[int, str, bool]] = []
        """Levels with the indent of what belongs to their last item, and whether that has a bullet."""

    @property
    def indent(self) -> str:
        """The indent of blocks that belong to the last item."""
        return self._open[-1][1] if self._open else ""

    def close(self) -> None:
        """End the list: the next item stands for itself."""
        self._open.clear()

    def write(self, level: int, number: str, text: str) -> None:
        """Write an item; `1.1` and `(a)` are no markers of Markdown, so they begin a paragraph."""
        bulleted = number == BULLET
        while self._open and self._open[-1][0] >= level:
            before, _, was_bulleted = self._open.pop()
            if before == level and was_bulleted != bulleted:  # another list, which begins after a blank line
                self._writer.end_list()
        indent = self.indent
        if bulleted:
            marker = "- "
        elif _MARKDOWN_NUMBER.fullmatch(number) and text.strip():
            marker = f"{number} "
        else:
            marker = ""
        if marker:
            self._writer.item(text, indent, marker)
        else:
            self._writer.add(paragraph(f"{number} {text}"), indent)
        within = indent + " " * len(marker)
        if len(self._open) < _MAX_LEVELS:
            self._open.append((level, within, bulleted))


# Automatic numbers in the formats of Word and PowerPoint (ECMA-376, ST_NumberFormat).

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


# Symbol fonts, whose codes are signs instead of letters.

_FIRST, _PRIVATE = 0x20, 0xF000
_SIGNS = {  # by the codes from 32 to 255
    "symbol": (
        " !∀#∃%&∍()*+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩ"
        "ΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}~�����������������"
        "����������������€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩"
        "∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪�〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭�"
    ),
    "webdings": (
        " 🕷🕸🕲🕶🏆🎖🖇🗨🗩🗰🗱🌶🎗🙾🙼🗕🗖🗗⏴⏵⏶⏷⏪⏩⏮⏭⏸⏹⏺🗚🗳🛠🏗🏘🏙🏚🏜🏭🏛🏠🏖🏝🛣🔍🏔👁👂🏞🏕🛤🏟🛳🕬🕫🕨"
        "🔈🎔🎕🗬🙽🗭🗪🗫⮔✔🚲⬜🛡📦🛱⬛🚑🛈🛩🛰🟈🕴⬤🛥🚔🗘🗙❓🛲🚇🚍⛳⦸⊖🚭🗮⏐🗯🗲�🚹🚺🛉🛊🚼👽🏋⛷🏂🏌🏊🏄🏍🏎🚘🗠"
        "🛢💰🏷💳👪🗡🗢🗣✯🖄🖅🖃🖆🖹🖺🖻🕵🕰🖽🖾📋🗒🗓🕮📚🗞🗟🗃🗂🖼🎭🎜🎘🎙🎧💿🎞📷🎟🎬📽📹📾📻🎚🎛📺💻🖥🖦🖧🕹🎮🕻🕼📟"
        "🖁🖀🖨🖩🖿🖪🗜🔒🔓🗝📥📤🕳🌣🌤🌥🌦☁🌨🌧🌩🌪🌬🌫🌜🌡🛋🛏🍽🍸🛎🛍Ⓟ♿🛆🖈🎓🗤🗥🗦🗧🛪🐿🐦🐟🐕🐈🙬🙮🙭🙯🗺🌍🌏🌎🕊"
    ),
    "wingdings": (
        " 🖉✂✁👓🕭🕮🕯🕿✆🖂🖃📪📫📬📭🗀🗁🗎🗏🗐🗄⌛🖮🖰🖲🖳🖴🖫🖬✇✍🖎✌🖏👍👎☜☞☝☟🖐☺😐☹💣🕱🏳🏱✈☼🌢❄🕆✞🕈"
        "✠✡☪☯🕉☸♈♉♊♋♌♍♎♏♐♑♒♓🙰🙵⚫🔾◼☐🞐❑❒🞟⧫◆❖⬩⌧⮹⌘🏵🏶🙶🙷▯🄋➀➁➂➃➄➅➆➇➈➉🄌➊➋➌➍"
        "➎➏➐➑➒➓🙢🙠🙡🙣🙞🙜🙝🙟∙•⬝⭘🞆🞈🞊🞋🔿▪☐🟁🟅★🟋🟏🟓🟑⯐⌖⯎⯏⯑✪✰🕐🕑🕒🕓🕔🕕🕖🕗🕘🕙🕚🕛⮰⮱⮲⮳⮴"
        "⮵⮶⮷🙪🙫🙕🙔🙗🙖🙐🙑🙒🙓⌫⌦⮘⮚⮙⮛⮈⮊⮉⮋🡨🡪🡩🡫🡬🡭🡯🡮🡸🡺🡹🡻🡼🡽🡿🡾⇦⇨⇧⇩⬄⇳⬁⬀⬃⬂🢬🢭✗✓☒☑�"
    ),
    "wingdings 2": (
        " 🖊🖋🖌🖍✄✀🕾🕽🗅🗆🗇🗈🗉🗊🗋🗌🗍📋🗑🗔🖵🖶🖷🖸🖭🖯🖱🖒🖓🖘🖙🖚🖛👈👉🖜🖝🖞🖟🖠🖡👆👇🖢🖣🖑✗✓☒☑☒☒⮾⮿🛇"
        "⦸🙱🙴🙲🙳‽🙹🙺🙻🙦🙤🙥🙧🙚🙘🙙🙛⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿�☉🌕☽☾⸿✝🕇🕜🕝🕞🕟🕠🕡🕢🕣🕤"
        "🕥🕦🕧🙨🙩⋅🞄⦁●○🞅🞇🞉⊙⦿🞌🞍◾■□🞑🞒🞓🞔▣🞕🞖🞗🞘⬩⬥◇🞚◈🞛🞜🞝🞞⬪⬧◊🞠◖◗⯊⯋⯀⯁⬟⯂⬣⬢⯃⯄🞡🞢"
        "🞣🞤🞥🞦🞧🞨🞩🞪🞫🞬🞭🞮🞯🞰🞱🞲🞳🞴🞵🞶🞷🞸🞹🞺🞻🞼🞽🞾🞿🟀🟂🟄🟆🟉🟊✶🟌🟎🟐🟒✹🟃🟇✯🟍🟔⯌⯍※⁂������"
    ),
    "wingdings 3": (
        " ⭠⭢⭡⭣⭦⭧⭩⭨⭰⭲⭱⭳⭶⭸⭻⭽⭤⭥⭪⭬⭫⭭⭍⮠⮡⮢⮣⮤⮥⮦⮧⮐⮑⮒⮓⮀⮃⭾⭿⮄⮆⮅⮇⮏⮍⮎⮌⭮⭯⎋⌤⌃⌥␣⍽"
        "⇪⮸🢠🢡🢢🢣🢤🢥🢦🢧🢨🢩🢪🢫🡐🡒🡑🡓🡔🡕🡗🡖🡘🡙▲▼△▽◀▶◁▷◣◢◤◥🞀🞂🞁�🞃⯅⯆⯇⯈⮜⮞⮝⮟🠐🠒🠑🠓🠔🠖🠕"
        "🠗🠘🠚🠙🠛🠜🠞🠝🠟🠀🠂🠁🠃🠄🠆🠅🠇🠈🠊🠉🠋🠠🠢🠤🠦🠨🠪🠬🢜🢝🢞🢟🠮🠰🠲🠴🠶🠸🠺🠹🠻🢘🢚🢙🢛🠼🠾🠽🠿🡀🡂🡁🡃🡄🡆🡅"
        "🡇⮨⮩⮪⮫⮬⮭⮮⮯🡠🡢🡡🡣🡤🡥🡧🡦🡰🡲🡱🡳🡴🡵🡷🡶🢀🢂🢁🢃🢄🢅🢇🢆🢐🢒🢑🢓🢔🢖🢕🢗���������������"
    ),
}
_UNKNOWN = "\ufffd"
_TABLES = {
    font: {
        place + at: sign
        for at, sign in enumerate(signs, _FIRST)
        if sign != _UNKNOWN
        for place in (0, _PRIVATE)
    }
    for font, signs in _SIGNS.items()
}


def is_symbol_font(font: str) -> bool:
    return font.lower() in _TABLES


def translate_symbols(text: str, font: str) -> str:
    """Return the signs that `font` shows for `text`; codes that no table knows become U+FFFD."""
    shown = text.translate(_TABLES.get(font.lower(), {}))
    return "".join(_UNKNOWN if "\ue000" <= each <= "\uf8ff" else each for each in shown)
