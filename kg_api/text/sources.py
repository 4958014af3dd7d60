"""Lines and blanks of a text, in code point offsets."""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, takewhile
from pathlib import Path
from typing import TypedDict, cast

import sentencex
from pathspec import GitIgnoreSpec

from kg_api.errors import InvalidInput
from kg_api.schemas.documents import Block, BlockKind, ParsedDocument, SourceBlock, SourceSpan

NEWLINE = re.compile(r"\r\n|\n|\r")
"""What ends a line, in every parser of kg."""
_VISIBLE = re.compile(
    # Anything but white space, control and format characters, and the fillers that look like nothing.
    r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def line_starts(text: str) -> Sequence[int]:
    r"""Where each line begins, then the text's length: line i is text[starts[i]:starts[i + 1]]."""
    starts = array("Q", [0])  # 8 bytes a line, where a list takes 36
    starts.extend(newline.end() for newline in NEWLINE.finditer(text))
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts


def is_blank(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether there is nothing to see in text[start:end]: white space and zero-width characters only."""
    return _VISIBLE.search(text, start, len(text) if end is None else end) is None


# Which files of a folder a person does not want: what .gitignore says, and patterns that are given.

IGNORED = "ignored by .gitignore"
EXCLUDED = "excluded by --exclude"
NOT_INCLUDED = "not named by --include"
EMPTY = "empty file"
_MAX_BYTES = 1_000_000
"""Of a .gitignore that is read."""


@dataclass(frozen=True, slots=True)
class FolderRules:
    """What is wanted of folders. Patterns are those of .gitignore, relative to the folder that is named."""

    include: Sequence[str] = ()
    """Only files that one of them fits; none: all."""
    exclude: Sequence[str] = ()
    gitignore: bool = True
    """Whether files that git would ignore are left out."""


class FolderFilter:
    """The rules, for one folder that a person named."""

    def __init__(self, root: Path, rules: FolderRules) -> None:
        """Read the .gitignore files above the folder, up to the repository that it is in.

        Raises:
            InvalidInput: a pattern is none.
        """
        self._given, self._root = root, root.resolve()
        self._include = _spec(rules.include) if rules.include else None
        self._exclude = _spec(rules.exclude)
        self._gitignore = rules.gitignore
        self._specs: dict[Path, list[tuple[Path, GitIgnoreSpec]]] = {}
        if rules.gitignore:
            self._specs[self._root.parent] = [*_above(self._root)]

    def reason_of(self, path: Path, *, is_folder: bool = False) -> str | None:
        """Why a file is left out, or a folder with all that is below it; None: it is wanted."""
        below = path.relative_to(self._given).as_posix() + "/" * is_folder
        if self._exclude.match_file(below):
            return EXCLUDED
        if not is_folder and self._include is not None and not self._include.match_file(below):
            return NOT_INCLUDED
        return IGNORED if self._gitignore and self._is_ignored(below) else None

    def _is_ignored(self, below: str) -> bool:
        """As git decides it: the deepest file that says something of it, and the last line there."""
        path = self._root / below
        for base, spec in reversed(self._of(path.parent)):
            said = spec.check_file(path.relative_to(base).as_posix() + "/" * below.endswith("/")).include
            if said is not None:
                return said
        return False

    def _of(self, folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
        known = self._specs.get(folder)
        if known is None:
            known = self._specs[folder] = [*self._of(folder.parent), *_read(folder)]
        return known


def _spec(patterns: Iterable[str]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise InvalidInput(f"--include and --exclude take patterns as .gitignore does: {error}") from None


def _above(root: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    """Those of the folders between a repository and the folder that was named, the highest first."""
    above = [*root.parents]
    for at, folder in enumerate(above):
        if (folder / ".git").exists():
            for each in reversed(above[: at + 1]):
                yield from _read(each)
            return
        if (root / ".git").exists():
            return


def _read(folder: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    file = folder / ".gitignore"
    with suppress(OSError):
        if file.is_file() and file.stat().st_size <= _MAX_BYTES:
            lines = file.read_text("utf-8", "replace").splitlines()
            yield folder, GitIgnoreSpec.from_lines(filter(_is_pattern, lines))


def _is_pattern(line: str) -> bool:
    """Git passes over lines that are no patterns."""
    with suppress(ValueError):
        GitIgnoreSpec.from_lines([line])
        return True
    return False


# Sentence borders, by sentencex, in time that is linear in the text.

_WINDOW = 3000
"""Characters given to sentencex at once: it takes quadratic time on text with many closed quotes or CJK."""

_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("hy", re.compile("[\u0530-\u058f]")),
    ("am", re.compile("[\u1200-\u137f]")),
    ("my", re.compile("[\u1000-\u109f]")),
)
_A_SCRIPT = 0.2
"""Share of the characters that makes a text one of that script."""

_COMMON_WORDS = {
    "en": "the of and to in is that it for was with as on are this be by",
    "de": "der die und das ist nicht ein eine zu den mit von auf dem im für sich",
    "fr": "le la les et des est une dans que qui pour pas sur du au ce par",
    "es": "el la los las que y en un una es por con para del se no como",
    "it": "il la di che e un una è per non con del della sono gli nel si",
    "pt": "o a os as que e um uma é por com para do da não em no",
    "nl": "de het een en van is dat niet op te in voor met zijn er aan",
    "pl": "i w na z że się nie do jest to o jak po co od za dla",
}
_COMMON = {language: frozenset(words.split()) for language, words in _COMMON_WORDS.items()}


class _Sentence(TypedDict):
    """What sentencex says of one; offsets are code points."""

    start_index: int
    text: str


def sentence_borders(text: str, start: int, end: int) -> Iterator[int]:
    """Give the offsets within text[start:end] at which a new sentence begins, without `start` itself."""
    language = guess_language(text[start : start + _WINDOW])
    while start < end:
        stop = min(start + _WINDOW, end)
        borders = [start + at for at in _sentence_starts(language, text[start:stop]) if at]
        if stop < end:  # the last sentence may be cut: begin again with it, if that gets on
            stop = borders.pop() if borders and borders[-1] > start + _WINDOW // 2 else stop
            borders.append(stop)
        yield from borders
        start = stop


def guess_language(sample: str) -> str:
    """Tell the language by its script, else by its commonest words; 'en' when nothing speaks for another."""
    for language, script in () if sample.isascii() else _SCRIPTS:
        if len(script.findall(sample)) > len(sample) * _A_SCRIPT:
            return language
    found = Counter(sample.lower().split())
    counts = {
        language: sum(found[word] for word in found.keys() & common) for language, common in _COMMON.items()
    }
    return max(counts, key=counts.__getitem__)


def _sentence_starts(language: str, text: str) -> Iterator[int]:
    found = cast(
        "list[_Sentence]",
        sentencex.get_sentence_boundaries(language, text),  # pyright: ignore[reportAttributeAccessIssue] - no stubs
    )
    for sentence in found:
        if not sentence["text"].isspace():  # a blank line comes as a sentence of its own
            yield sentence["start_index"]


# How long a text is, in words or what stands for them, and how long a source may be.

# Measured on the same 240 paragraphs in English and in another language (XQuAD): an English word is 1.95
# characters of Chinese and 5.7 of Thai. In the languages with spaces it is 0.8 to 1.4 words.
_TWO_A_WORD = re.compile("[\u2e80-\ua4cf\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff]+")
_SIX_A_WORD = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
_LONG_WORD = 10
"""Characters that count as one more word where no space comes: links, identifiers, data."""
_SIZE_WINDOW = 1 << 16
"""Characters looked at together, so that a text of many megabytes does not become a list of its words."""


@dataclass(frozen=True, slots=True)
class SplitLimits:
    """Sizes of sources in words, as `words` counts them."""

    join_below: int = 40
    """A piece below this is joined with its neighbours in the section; so are list items of any size."""
    enough: int = 100
    """Joining ends when this is reached."""
    most: int = 200
    """Joining does not go beyond this, and what is split is split into pieces of at most this."""
    split_above: int = 250
    """A paragraph above this is split."""
    split_code_above: int = 400
    """Code and tables above this are split: they lose more by it than prose."""


def words(text: str, start: int = 0, end: int | None = None) -> int:
    """Count the words of text[start:end]; without spaces between words, characters are counted instead.

    What is joined never has more words than its parts together.
    """
    stop = len(text) if end is None else end
    return sum(_count(text[at : min(at + _SIZE_WINDOW, stop)]) for at in range(start, stop, _SIZE_WINDOW))


def _count(text: str) -> int:
    spaced = text.split()
    visible = sum(map(len, spaced))
    if text.isascii():
        return max(len(spaced), math.ceil(visible / _LONG_WORD))
    two, six = _count_matched(_TWO_A_WORD, text), _count_matched(_SIX_A_WORD, text)
    return max(len(spaced), math.ceil(two / 2 + six / 6 + (visible - two - six) / _LONG_WORD))


def _count_matched(pattern: re.Pattern[str], text: str) -> int:
    return sum(run.end() - run.start() for run in pattern.finditer(text))


# Cutting a text that is too long for one source, at the best borders it has, without losing a character.

Borders = Callable[[str, int, int], Iterator[int]]
"""Gives the offsets strictly inside text[start:end] where it may be cut, in order."""
Measure = Callable[[str, int, int], int]
"""How long text[start:end] is. What is joined is never longer than its parts together."""
Span = tuple[int, int]

_WORD = re.compile(r"\S+\s*")
_WORDS_OF_A_WRAPPED_LINE = 30
"""Above this the lines of a text are not lines of a paragraph."""
_CLUSTER_STEP = 50
"""Characters between two places where a word without end may be cut."""
_MAX_CLUSTER_LENGTH = 32
_JOINERS = "\u200d\ufe0e\ufe0f"
_SKIN_TONES = range(0x1F3FB, 0x1F400)


def blank_line_borders(text: str, start: int, end: int) -> Iterator[int]:
    blank_before = False
    for line, following in pairwise(chain((start,), line_borders(text, start, end), (end,))):
        blank = is_blank(text, line, following)
        if blank_before and not blank and line > start:
            yield line
        blank_before = blank


def line_borders(text: str, start: int, end: int) -> Iterator[int]:
    """At the beginning of each line."""
    found = (newline.end() for newline in NEWLINE.finditer(text, start, end))
    return (border for border in found if border < end)


def word_borders(text: str, start: int, end: int) -> Iterator[int]:
    """At the beginning of each word."""
    found = (word.start() for word in _WORD.finditer(text, start, end))
    return (border for border in found if border > start)


def character_borders(text: str, start: int, end: int) -> Iterator[int]:
    """Every few characters, not before one that belongs to the character on its left."""
    for border in range(start + _CLUSTER_STEP, end, _CLUSTER_STEP):
        shift = 0
        while shift < _MAX_CLUSTER_LENGTH and border + shift < end and _joins_left(text, border + shift):
            shift += 1
        if shift < _MAX_CLUSTER_LENGTH and border + shift < end:
            yield border + shift


def _joins_left(text: str, at: int) -> bool:
    character = text[at]
    return (
        character in _JOINERS
        or text[at - 1] == "\u200d"
        or ord(character) in _SKIN_TONES
        or unicodedata.category(character)[0] == "M"
    )


LINES: tuple[Borders, ...] = (blank_line_borders, line_borders, word_borders, character_borders)


def prose_levels(text: str, start: int, end: int, size: int) -> tuple[Borders, ...]:
    """Kinds of borders for prose of `size` words: sentences, unless each line is a paragraph by itself."""
    lines = 1 + sum(1 for _ in line_borders(text, start, end))
    if lines > 1 and size / lines > _WORDS_OF_A_WRAPPED_LINE:
        return (line_borders, sentence_borders, word_borders, character_borders)
    return (sentence_borders, line_borders, word_borders, character_borders)


def cut(
    text: str,
    span: Span,
    size: int,
    levels: Sequence[Borders],
    *,
    above: int,
    most: int,
    measure: Measure = words,
) -> list[Span]:
    """Cut text[start:end] of `size` words, or what else is measured, into pieces that join to it.

    Args:
        text: the whole text.
        span: start and end of the part to be cut.
        size: its words.
        levels: kinds of borders, the best first; the next is used for what the former leaves too long.
        above: what has at most this many words stays whole.
        most: the pieces have at most this many words, and are about equally long.
        measure: by what else than words.
    """
    if size <= above or not levels:
        return [span]
    fair = size / -(-size // most)
    pieces: list[Span] = []
    begin, filled = span[0], 0
    for start, end in pairwise(chain((span[0],), levels[0](text, *span), (span[1],))):
        part = measure(text, start, end)
        if start > begin and (filled >= fair or filled + part > most):
            pieces.append((begin, start))
            begin, filled = start, 0
        if part > most:
            pieces += cut(text, (start, end), part, levels[1:], above=above, most=most, measure=measure)
            begin = end
        else:
            filled += part
    return pieces if begin == span[1] else [*pieces, (begin, span[1])]


# From a parsed document to its sources: paragraph-level spans in reading order that join to the whole text.
#
# What lies together is decided within one section only, so that an edit moves no border beyond it.

SPLITTER_VERSION = "2"
"""Part of a document's hash; another version means other sources from the same text."""

_DEFAULTS = SplitLimits()
_TAIL = 100
"""Characters in which the end of a piece is looked for behind the blanks."""
_WHOLE: frozenset[BlockKind] = frozenset({"code", "program", "table"})
_BY_LINES: frozenset[BlockKind] = frozenset({"code", "program", "table", "markup", "other"})
_JOINED: frozenset[BlockKind] = frozenset({"list_item", "code", "program", "table", "markup", "other"})
"""Kinds that are joined with their neighbours whatever their size."""


@dataclass(slots=True)
class _Piece:
    """text[start:end]: a block, a part of a long one, or several joined."""

    kind: BlockKind
    start: int
    end: int
    size: int
    leads: bool = False
    """It ends with a colon: what follows belongs to it."""

    def take(self, other: _Piece) -> None:
        """Grow by the piece that follows."""
        self.kind, self.end, self.leads = other.kind, other.end, other.leads
        self.size += other.size


@dataclass(slots=True)
class _Section:
    """Headings that follow each other, as one piece, and what lies below the last of them."""

    path: tuple[str, ...] = ()
    head: _Piece | None = None
    body: list[_Piece] = field(default_factory=list[_Piece])


def split(document: ParsedDocument, limits: SplitLimits = _DEFAULTS) -> list[SourceSpan]:
    """Split a document into sources.

    The first span starts at `body`, each next one where the former ends, the last ends at len(text). Blank
    text belongs to the source before it. A blank document has no sources.
    """
    if is_blank(document.text, document.body, len(document.text)):
        return []
    sections = list(_sections(document, limits))
    sources = [(piece, section.path) for section in sections for piece in _join(section, limits)]
    if len(sources) > 1 and not sections[-1].body:  # the document ends with headings
        (before, _), (last, _) = sources[-2:]
        if before.size + last.size <= limits.split_above:
            before.take(last)
            sources.pop()
    spans = [SourceSpan(piece.start, piece.end, path) for piece, path in sources]
    # Give spans in which nothing can be seen to the one before, or to the next at the beginning
    kept: list[SourceSpan] = []
    start = document.body
    for span in spans:
        if not is_blank(document.text, span.start, span.end):
            kept.append(replace(span, start=start))
        elif kept:
            kept[-1] = replace(kept[-1], end=span.end)
        start = kept[-1].end if kept else document.body
    return kept


def blocks_of(document: ParsedDocument, spans: Sequence[SourceSpan]) -> list[tuple[SourceBlock, ...]]:
    """The blocks of each source; what is in no block belongs to the one before it, or to the first."""
    blocks = document.blocks or (Block("paragraph", 0, len(document.text)),)
    starts = [block.start for block in blocks]
    found: list[tuple[SourceBlock, ...]] = []
    for span in spans:
        first = max(bisect_right(starts, span.start) - 1, 0)
        within = blocks[first : bisect_left(starts, span.end)]
        found.append(tuple(SourceBlock(each.kind, max(each.start - span.start, 0)) for each in within))
    return found


def _sections(document: ParsedDocument, limits: SplitLimits) -> Iterator[_Section]:
    above: list[Block] = []
    section = _Section()
    for block, start, end in _extents(document):
        pieces = _pieces(document.text, block.kind, start, end, limits)
        if block.scope is not None:
            if section.body:
                yield section
            section = _Section(block.scope)
        if block.kind != "heading":
            section.body += pieces
            continue
        above = [*takewhile(lambda heading, level=block.level: heading.level < level, above), block]
        for piece in pieces:
            if section.body or (section.head and section.head.size + piece.size > limits.most):
                yield section
                section = _Section()
            section.path = tuple(heading.title for heading in above)
            if section.head:
                section.head.take(piece)
            else:
                section.head = piece
    yield section


def _extents(document: ParsedDocument) -> Iterator[tuple[Block, int, int]]:
    """Let the blocks take the blank text behind them, and the first the text before it, so that they tile."""
    text = document.text
    blocks = [block for block in document.blocks if not is_blank(text, block.start, block.end)]
    blocks = blocks or [Block("paragraph", document.body, len(text))]
    borders = [document.body, *(block.start for block in blocks[1:]), len(text)]
    return zip(blocks, borders[:-1], borders[1:], strict=True)


def _pieces(text: str, kind: BlockKind, start: int, end: int, limits: SplitLimits) -> list[_Piece]:
    size = words(text, start, end)
    above = limits.split_code_above if kind in _WHOLE else limits.split_above
    spans = [(start, end)]
    if size > above and kind != "image":
        levels = LINES if kind in _BY_LINES else prose_levels(text, start, end, size)
        spans = cut(text, (start, end), size, levels, above=above, most=limits.most)
    return [_Piece(kind, *span, words(text, *span), _leads(text, *span)) for span in spans]


def _leads(text: str, start: int, end: int) -> bool:
    return text[max(start, end - _TAIL) : end].rstrip().endswith((":", "："))


def _join(section: _Section, limits: SplitLimits) -> list[_Piece]:
    joined = section.body
    for rule in (_is_led, _belong_together, _is_rest):
        joined = _merge(joined, rule, limits)
    if section.head is None:
        return joined
    if not joined:
        return [section.head]
    section.head.take(joined[0])
    return [section.head, *joined[1:]]


def _merge(
    pieces: list[_Piece], together: Callable[[_Piece, _Piece, SplitLimits], bool], limits: SplitLimits
) -> list[_Piece]:
    merged: list[_Piece] = []
    for piece in pieces:
        apart = piece.kind == "image" or (merged and merged[-1].kind == "image")
        if merged and not apart and together(merged[-1], piece, limits):
            merged[-1].take(piece)
        else:
            merged.append(piece)
    return merged


def _is_led(former: _Piece, piece: _Piece, limits: SplitLimits) -> bool:
    """Whether the piece is what the former announces with a colon."""
    small, whole = former.size < limits.join_below, piece.kind in _WHOLE
    most = limits.split_code_above if small and whole else limits.split_above
    return former.leads and (small or whole) and former.size + piece.size <= most


def _belong_together(former: _Piece, piece: _Piece, limits: SplitLimits) -> bool:
    small = min(former.size, piece.size) < limits.join_below
    total = former.size + piece.size
    if piece.kind in _WHOLE:  # it explains what stands before it
        return total <= (limits.split_code_above if small else limits.most)
    if former.size >= limits.enough or not (small or piece.kind in _JOINED):
        return False
    return total <= (limits.split_above if small else limits.most)


def _is_rest(former: _Piece, piece: _Piece, limits: SplitLimits) -> bool:
    """Whether a piece has stayed small and the one before it has room."""
    return piece.size < limits.join_below and former.size + piece.size <= limits.split_above
