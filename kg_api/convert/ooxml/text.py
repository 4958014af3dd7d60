"""Text runs, list numbers, and symbol fonts of Office files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Literal

from kg_api.convert.shared.markdown_text import MarkdownWriter, lower_text, raise_text, write_paragraph

Script = Literal["", "raised", "lowered"]


class InlineText:
    """Runs of a paragraph. Equal neighbors are merged, because Office splits runs anywhere."""

    def __init__(self) -> None:
        self._runs: list[tuple[str, Script, bool]] = []

    def add(self, text: str, script: Script = "", *, struck: bool = False) -> None:
        if text:
            self._runs.append((text, script, struck))

    @property
    def size(self) -> int:
        return len(self._runs)

    def render(self) -> str:
        """Return Markdown such as `10⁶` and `~~499~~ 399`, with line breaks."""
        return "".join(
            strike_text(_render_scripts(runs)) if struck else _render_scripts(runs)
            for struck, runs in (
                (key, list(runs)) for key, runs in groupby(self._runs, key=lambda run: run[2])
            )
        )


def _render_scripts(runs: list[tuple[str, Script, bool]]) -> str:
    writers = {"raised": raise_text, "lowered": lower_text}
    parts = (
        (script, "".join(run[0] for run in same)) for script, same in groupby(runs, key=lambda run: run[1])
    )
    return "".join(writers[script](text) if script and text.strip() else text for script, text in parts)


def strike_text(text: str) -> str:
    words = text.strip()
    if not words:
        return text
    at = text.index(words)
    return f"{text[:at]}~~{' '.join(words.split())}~~{text[at + len(words) :]}"


# List items with the numbers of Office

_MARKDOWN_NUMBER = re.compile(r"[0-9]{1,9}[.)]")
_MAX_LEVELS = 6  # nested lists (limit of the Markdown parser: 10)
ALTERNATIVES = "alternative texts of shapes and charts"  # that kg does not store
BULLET = "•"


class ListWriter:
    """Writer of list items, each indented below the item of the level above."""

    def __init__(self, writer: MarkdownWriter) -> None:
        self._writer = writer
        self._open: list[tuple[int, str, bool]] = []
        """Levels, with the indent of their last item's content and whether the item has a bullet."""

    @property
    def indent(self) -> str:
        """Indent of blocks in the last item."""
        return self._open[-1][1] if self._open else ""

    def close(self) -> None:
        """End the list, so that the next item starts another one."""
        self._open.clear()

    def write(self, level: int, number: str, text: str) -> None:
        """Write an item. Markdown has no markers such as `1.1` and `(a)`, so these start a paragraph."""
        bulleted = number == BULLET
        while self._open and self._open[-1][0] >= level:
            before, _, was_bulleted = self._open.pop()
            if before == level and was_bulleted != bulleted:  # another list, which needs a blank line before
                self._writer.end_list()
        indent = self.indent
        if bulleted:
            marker = "- "
        elif _MARKDOWN_NUMBER.fullmatch(number) and text.strip():
            marker = f"{number} "
        else:
            marker = ""
        if marker:
            self._writer.add_item(text, indent, marker)
        else:
            self._writer.add(write_paragraph(f"{number} {text}"), indent)
        within = indent + " " * len(marker)
        if len(self._open) < _MAX_LEVELS:
            self._open.append((level, within, bulleted))


# Automatic numbers in formats of Word and PowerPoint (ECMA-376, ST_NumberFormat)

_ROMAN = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")),
    *((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_MAX_REPEATED = 30  # limit of one letter, because the file is untrusted


def format_number(value: int, form: str, language: str = "en") -> str | None:
    """Return a number in a list format, or None for an unknown format or ordinal language."""
    if plain := re.match(r"0*[0-9]", form):  # a custom format, whose first number defines the width
        return str(value).zfill(len(plain[0]))
    if form == "ordinal" and value > 0 and language.lower().startswith("en"):
        teens = value // 10 % 10 == 1
        return f"{value}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"
    write = _FORMS.get(form)
    return write(value) if write and (value > 0 or form in _WITH_ZERO) else None


def _to_roman(value: int) -> str:
    text = ""
    for size, letters in _ROMAN:
        count, value = divmod(value, size)
        text += letters * min(count, _MAX_REPEATED)
    return text


def _repeat_letters(letters: str, value: int) -> str:
    times, at = divmod(value - 1, len(letters))
    return letters[at] * min(times + 1, _MAX_REPEATED)


_FORMS: dict[str, Callable[[int], str]] = {
    "none": lambda _: "",
    "decimal": str,
    "decimalZero": "{:02d}".format,
    "numberInDash": "- {} -".format,
    "decimalEnclosedCircle": lambda value: chr(0x245F + value) if value <= 20 else str(value),  # noqa: PLR2004
    "upperRoman": _to_roman,
    "lowerRoman": lambda value: _to_roman(value).lower(),
    "lowerLetter": partial(_repeat_letters, _LATIN),
    "upperLetter": partial(_repeat_letters, _LATIN.upper()),
}
_WITH_ZERO = frozenset({"none", "decimal", "decimalZero", "numberInDash"})
_AUTOMATIC = re.compile(r"(\w+?)(Period|ParenR|ParenBoth|Plain|Minus)")
_SLIDE_FORMS = {
    **dict.fromkeys(("arabic", "arabicDb"), "decimal"),
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
    **dict.fromkeys(("circleNumDb", "circleNumWdBlack", "circleNumWdWhite"), "decimalEnclosedCircle"),
}
_MARKS = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})", "Plain": "{}", "Minus": "{}-"}


def format_slide_number(value: int, form: str) -> str | None:
    """Format a number in a DrawingML format (ST_TextAutonumberScheme) such as `alphaLcParenBoth`."""
    found = _AUTOMATIC.fullmatch(form)
    number = format_number(value, _SLIDE_FORMS.get(found[1], found[1])) if found else None
    return _MARKS[found[2]].format(number) if found and number else None


# Symbol fonts

_FIRST, _PRIVATE = 0x20, 0xF000
_SIGNS = {  # codes 32 to 255
    "symbol": (
        " !∀#∃%&∍()*+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩ"
        "ΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}~�����������������"
        "����������������€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩"
        "∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪�〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭�"
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
    **dict.fromkeys(("webdings", "wingdings 3"), ""),  # hardly used for letters or boxes
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
    """Return the symbols of `text` in `font`, with U+FFFD for unknown codes."""
    table = _TABLES.get(font.lower())
    translated = _UNKNOWN * len(text) if table == {} else text.translate(table or {})
    return "".join(_UNKNOWN if "\ue000" <= each <= "\uf8ff" else each for each in translated)
