"""Markdown as kg's parser reads it: a paragraph is one line, and marks stand only where blocks begin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from kg_api.schemas.images import FoundImage, ReadImage
from kg_api.text.cutting import words as words_of
from kg_api.text.sources import SplitLimits

_LIMITS = SplitLimits()
_MIN_ROWS_WORDS = 100  # words of rows that stand below each header, however wide that is
_MAX_INFO = 40
_MAX_LABEL, _MAX_NAME = 2000, 100  # characters of the words of a picture, and of the name of its file
_WORDS_BEFORE = 30
_BRACKETS = str.maketrans({"[": "(", "]": ")", "\\": "/"})

_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff\x00-\x08\x0e-\x1b\x7f\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LIGATURE = re.compile("[ﬀ-ﬆ]")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}  # as a reader says them
)
_MARK = re.compile(r"#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|`{3}|~{3}|<(?=[A-Za-z/!?])|([-_*])(?:\s*\1){2,}\s*$")
_NUMBER = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_CLOSING = re.compile(r"(?<=\s)(#+)$|^(#+)$")
_TICKS = re.compile(r"`{3,}")
# One table for all formats; superscripts are the compatibility forms of their characters (NFKC).
_RAISED = str.maketrans(
    "0123456789+-−–=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ",
)
_LOWERED = str.maketrans("0123456789+-−–=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ")
_TRADE_MARKS = {"TM": "™", "SM": "℠"}
_MAX_SCRIPT = 40
_SUFFIX = re.compile(r"[^\W\d_]{2,3}")
"""Letters that read as one word with the text before them: 4th, 1ers, Mme, Tmax."""
_WORD = re.compile(r"[^\W\d_]{3}")
_BRACKETED = re.compile(r"(?:\[[^\[\]]*\])+|\([^()]*[^\W\d_]{3}[^()]*\)")
_MARKS = re.compile(r"^[ \t]*(?:#{1,6}|[-*+>]|\d{1,9}\\?[.)])[ \t]+|[|`]+|^[ |:-]+$", re.MULTILINE)


def storable(text: str) -> str:
    """Leave out what nobody sees and what no database keeps; newlines and blanks stay."""
    if text.isascii() and text.isprintable():
        return text
    shown = _SURROGATE.sub("�", _INVISIBLE.sub("", text))
    return shown.translate(_LIGATURES) if _LIGATURE.search(shown) else shown  # translate is slow


def one_line(text: str) -> str:
    """The words as a reader sees them, on one line with one blank between them."""
    if text.isascii() and text.isprintable():  # quick: it has no whitespace but blanks
        return " ".join(text.split()) if " " in text else text
    return " ".join(storable(text).split())


def paragraph(text: str) -> str:
    """One line that Markdown reads as a paragraph, whatever it begins with."""
    line = one_line(text)
    if _MARK.match(line):
        return "\\" + line
    return _NUMBER.sub(r"\1\\\2", line, count=1) if _NUMBER.match(line) else line


def raise_text(text: str) -> str:
    """Return superscript text so that no digit of it joins the number before it.

    Digits, signs and single letters become Unicode superscripts (`10⁶`, `10⁻⁴`, `m²`), which compare equal to
    plain digits under NFKC. Short suffixes stay plain (`4th`), references stay in brackets (`3.2[4]`), and
    any other text gets a caret (`450^(1,2)`).
    """
    return _shift(text, _RAISED, "^")


def lower_text(text: str) -> str:
    """Return subscript text so that no digit of it joins the number before it: `H₂O`, `10₂`, `Tmax`."""
    return _shift(text, _LOWERED, "_")


def _shift(text: str, forms: Mapping[int, int], mark: str) -> str:
    words = one_line(text)
    if len(words) > _MAX_SCRIPT:  # a sentence in small print
        return f" {text} "
    if mark == "^" and words in _TRADE_MARKS:
        shifted = _TRADE_MARKS[words]
    elif all(ord(each) in forms for each in words) and not (_WORD.search(words) or _SUFFIX.fullmatch(words)):
        shifted = words.translate(forms)
    elif _SUFFIX.fullmatch(words) or _BRACKETED.fullmatch(words) or not any(map(str.isalnum, words)):
        shifted = words
    else:
        shifted = mark + (words if words.isalpha() else f"({words})")
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{before}{shifted}{after}"


def heading(level: int, text: str) -> str:
    """A heading of level 1 to 6; hashes at its end are words of it, not marks."""
    line = one_line(text)
    return f"{'#' * min(max(level, 1), 6)} {_CLOSING.sub(lambda hashes: chr(92) + hashes[0], line)}"


def fence(code: str, language: str = "") -> str:
    """Code between fences that are longer than any in it."""
    lines = storable(code).replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()
    ticks = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(lines)), default=0))
    info = re.sub(r"[^\w+#.-]", "", language)[:_MAX_INFO]
    return f"{ticks}{info}\n{lines}\n{ticks}"


def table(rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose first row is the header.

    One that is too long for a passage goes on as others with the same header: each passage names its columns.
    """
    lines = [
        list(row) if _are_plain(row) else [one_line(cell).replace("|", "\\|") for cell in row] for row in rows
    ]
    width = max(map(len, lines), default=0)
    if not width:
        return ""
    header, *body = (_row(line + [""] * (width - len(line))) for line in lines)
    top = f"{header}\n{_row(['---'] * width)}"
    return "\n\n".join("\n".join([top, *part]) for part in _passages(top, body))


def _are_plain(cells: Sequence[str]) -> bool:
    """Whether cells can be written as they are; tables of many rows have hardly any other."""
    joined = "|".join(["", *cells, ""])
    return (
        joined.isascii()
        and joined.isprintable()
        and joined.count("|") == len(cells) + 1
        and not ("  " in joined or " |" in joined or "| " in joined)
    )


def _passages(top: str, rows: list[str]) -> list[list[str]]:
    """Rows in parts that stay whole as passages with the header; one too wide to be repeated stands once."""
    sizes, above = [*map(words_of, rows)], words_of(top)
    if above + sum(sizes) <= _LIMITS.split_code_above or above > _LIMITS.most:
        return [rows]
    most = max(_LIMITS.most - above, _MIN_ROWS_WORDS)
    parts, filled = list[list[str]](), most
    for row, size in zip(rows, sizes, strict=True):
        if filled + size > most:
            parts.append([])
            filled = 0
        parts[-1].append(row)
        filled += size
    return parts


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def picture(words: str, name: str) -> str:
    """One line that stands for a picture: by which words it is found, and the name of its file."""
    label = one_line(words).translate(_BRACKETS)[:_MAX_LABEL]
    return f"![{label}]({quote(one_line(name)[-_MAX_NAME:])})"


def words_before(blocks: Sequence[str]) -> str:
    """The last words of the last of these blocks that has any, and is no picture."""
    said = next(
        (each for each in reversed(blocks) if each.strip() and not each.lstrip().startswith("![")), ""
    )
    return " ".join(_MARKS.sub("", said).split()[-_WORDS_BEFORE:])[-_MAX_LABEL:]


class MarkdownWriter:
    """Blocks one below the other; it knows where the next one begins, in code points."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.images: list[FoundImage] = []  # pictures with the places of their words, in reading order
        self._list: str | None = (
            None  # how the items before look: their indent, and whether they are numbered
        )

    @property
    def position(self) -> int:
        """Where the next block that is no list item begins."""
        self.end_list()
        return self._length

    def add(self, block: str, indent: str = "") -> None:
        """A block of one or more lines; `indent` is that of the list item that it belongs to."""
        if not block:
            return
        self.end_list()
        self._append("\n".join(f"{indent}{line}" if line else "" for line in block.split("\n")), "\n\n")

    def item(self, text: str, indent: str = "", marker: str = "- ", more: Sequence[str] = ()) -> None:
        """A list item: a line, and further ones that belong to it, which begin no block."""
        if not (line := paragraph(text)):
            return
        ordered = "" if marker[0] in "-*+" else "."
        if ordered and self._list != indent + ordered and not marker.startswith("1."):
            self.end_list()  # only a list that begins with 1 may follow a line of text at once
        within = "\n" + indent + " " * len(marker)
        self._append(within.join([f"{indent}{marker}{line}", *more]), "\n")
        self._list = indent + ordered

    def image(self, image: ReadImage, words: str, name: str, indent: str = "") -> None:
        """A picture as a block of its own: its alternative text and caption, else the words before it."""
        block = picture(one_line(words) or words_before(self._parts), name)
        self.add(block, indent)
        end = self._length - len("\n\n")
        self.images.append(FoundImage(end - len(block), end, image))

    def text(self) -> str:
        """All blocks; nothing if there was none."""
        return "".join(self._parts).rstrip("\n") + "\n" if self._parts else ""

    def end_list(self) -> None:
        """Part the next item from the ones before it."""
        if self._list is not None:
            self._append("", "\n")
            self._list = None

    def _append(self, block: str, end: str) -> None:
        self._parts.append(block + end)
        self._length += len(block) + len(end)
