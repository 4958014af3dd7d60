"""Markdown for kg's parser: each paragraph is one line, and markup is only at block starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from kg_api.schemas.images import FoundImage, ReadImage
from kg_api.text.cutting import count_words as words_of
from kg_api.text.sources import SplitLimits

_LIMITS = SplitLimits()
_MIN_ROWS_WORDS = 100  # minimum words of rows below each header, also for a wide header
_MAX_INFO = 40
_MAX_LABEL, _MAX_NAME = 2000, 100  # characters of the text and of the file name of an image
_WORDS_BEFORE = 30
_BRACKETS = str.maketrans({"[": "(", "]": ")", "\\": "/"})

_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff\x00-\x08\x0e-\x1b\x7f\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LIGATURE = re.compile("[ﬀ-ﬆ]")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}  # spelled as read
)
_MARK = re.compile(r"#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|`{3}|~{3}|<(?=[A-Za-z/!?])|([-_*])(?:\s*\1){2,}\s*$")
_NUMBER = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_CLOSING = re.compile(r"(?<=\s)(#+)$|^(#+)$")
_TICKS = re.compile(r"`{3,}")
# One table for all formats. NFKC maps these superscripts to their plain characters.
_RAISED = str.maketrans(
    "0123456789+-−–=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ",
)
_LOWERED = str.maketrans("0123456789+-−–=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ")
_TRADE_MARKS = {"TM": "™", "SM": "℠"}
_MAX_SCRIPT = 40
_SUFFIX = re.compile(r"[^\W\d_]{2,3}")
"""Letters that read as one word with the text before: 4th, 1ers, Mme, Tmax."""
_WORD = re.compile(r"[^\W\d_]{3}")
_BRACKETED = re.compile(r"(?:\[[^\[\]]*\])+|\([^()]*[^\W\d_]{3}[^()]*\)")
_MARKS = re.compile(r"^[ \t]*(?:#{1,6}|[-*+>]|\d{1,9}\\?[.)])[ \t]+|[|`]+|^[ |:-]+$", re.MULTILINE)


def remove_unstorable(text: str) -> str:
    """Remove invisible characters and characters that the database rejects. Newlines and spaces stay."""
    if text.isascii() and text.isprintable():
        return text
    cleaned = _SURROGATE.sub("�", _INVISIBLE.sub("", text))
    return cleaned.translate(_LIGATURES) if _LIGATURE.search(cleaned) else cleaned  # translate is slow


def join_lines(text: str) -> str:
    """Join the visible text on one line with single spaces."""
    if text.isascii() and text.isprintable():  # fast path: no whitespace except spaces
        return " ".join(text.split()) if " " in text else text
    return " ".join(remove_unstorable(text).split())


def write_paragraph(text: str) -> str:
    """Return one line that Markdown parses as a paragraph, regardless of its start."""
    line = join_lines(text)
    if _MARK.match(line):
        return "\\" + line
    return _NUMBER.sub(r"\1\\\2", line, count=1) if _NUMBER.match(line) else line


def raise_text(text: str) -> str:
    """Return superscript text that does not join a number before it.

    Digits, signs, and single letters become Unicode superscripts (`10⁶`, `10⁻⁴`, `m²`), which equal plain
    digits under NFKC. Short suffixes stay plain (`4th`), references stay in brackets (`3.2[4]`), and other
    text gets a caret (`450^(1,2)`).
    """
    return _shift(text, _RAISED, "^")


def lower_text(text: str) -> str:
    """Return subscript text that does not join a number before it: `H₂O`, `10₂`, `Tmax`."""
    return _shift(text, _LOWERED, "_")


def _shift(text: str, forms: Mapping[int, int], mark: str) -> str:
    words = join_lines(text)
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


def write_heading(level: int, text: str) -> str:
    """Return a heading of level 1 to 6, with escaped hashes at its end."""
    line = join_lines(text)
    return f"{'#' * min(max(level, 1), 6)} {_CLOSING.sub(lambda hashes: chr(92) + hashes[0], line)}"


def write_code_block(code: str, language: str = "") -> str:
    """Return code between fences that are longer than any fence inside."""
    lines = remove_unstorable(code).replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()
    ticks = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(lines)), default=0))
    info = re.sub(r"[^\w+#.-]", "", language)[:_MAX_INFO]
    return f"{ticks}{info}\n{lines}\n{ticks}"


def write_table(rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. If it exceeds a passage, further tables repeat the header (the first row)."""
    lines = [
        list(row) if _are_plain(row) else [join_lines(cell).replace("|", "\\|") for cell in row]
        for row in rows
    ]
    width = max(map(len, lines), default=0)
    if not width:
        return ""
    header, *body = (_write_row(line + [""] * (width - len(line))) for line in lines)
    top = f"{header}\n{_write_row(['---'] * width)}"
    return "\n\n".join("\n".join([top, *part]) for part in _split_table(top, body))


def _are_plain(cells: Sequence[str]) -> bool:
    """Check if cells need no escaping, as nearly all cells of large tables."""
    joined = "|".join(["", *cells, ""])
    return (
        joined.isascii()
        and joined.isprintable()
        and joined.count("|") == len(cells) + 1
        and not ("  " in joined or " |" in joined or "| " in joined)
    )


def _split_table(top: str, rows: list[str]) -> list[list[str]]:
    """Split rows into parts that fit into a passage with the header, unless the header is too wide."""
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


def _write_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write_image_line(words: str, name: str) -> str:
    """Return the line of an image with its search text and file name."""
    label = join_lines(words).translate(_BRACKETS)[:_MAX_LABEL]
    return f"![{label}]({quote(join_lines(name)[-_MAX_NAME:])})"


def get_last_words(blocks: Sequence[str]) -> str:
    """Get the last words of the last text block, for an image without its own text."""
    words = next(
        (each for each in reversed(blocks) if each.strip() and not each.lstrip().startswith("![")), ""
    )
    return " ".join(_MARKS.sub("", words).split()[-_WORDS_BEFORE:])[-_MAX_LABEL:]


class MarkdownWriter:
    """Writer of consecutive blocks that tracks the position in code points."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.images: list[FoundImage] = []  # images with the positions of their text, in reading order
        self._list: str | None = None  # indent of the previous items, with "." if numbered

    @property
    def position(self) -> int:
        """Start of the next block other than a list item."""
        self.end_list()
        return self._length

    def add(self, block: str, indent: str = "") -> None:
        """Add a block of one or more lines, with the indent of its list item."""
        if not block:
            return
        self.end_list()
        self._append("\n".join(f"{indent}{line}" if line else "" for line in block.split("\n")), "\n\n")

    def add_item(self, text: str, indent: str = "", marker: str = "- ", more: Sequence[str] = ()) -> None:
        """Add a list item with an optional continuation, whose lines must not start a block."""
        if not (line := write_paragraph(text)):
            return
        ordered = "" if marker[0] in "-*+" else "."
        if ordered and self._list != indent + ordered and not marker.startswith("1."):
            self.end_list()  # only a list that starts with 1 can interrupt a paragraph
        within = "\n" + indent + " " * len(marker)
        self._append(within.join([f"{indent}{marker}{line}", *more]), "\n")
        self._list = indent + ordered

    def add_image(self, image: ReadImage, words: str, name: str, indent: str = "") -> None:
        """Add an image as a block. Its text is `words`, or the words before it."""
        block = write_image_line(join_lines(words) or get_last_words(self._parts), name)
        self.add(block, indent)
        end = self._length - len("\n\n")
        self.images.append(FoundImage(end - len(block), end, image))

    def text(self) -> str:
        return "".join(self._parts).rstrip("\n") + "\n" if self._parts else ""

    def end_list(self) -> None:
        """Separate the next item from the previous ones."""
        if self._list is not None:
            self._append("", "\n")
            self._list = None

    def _append(self, block: str, end: str) -> None:
        self._parts.append(block + end)
        self._length += len(block) + len(end)
