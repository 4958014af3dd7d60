"""What the strategies work on and what they give. Offsets are code points of a text, end excluded."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, groupby, islice, pairwise
from unicodedata import category

import numpy as np
import regex
from numpy.typing import NDArray

from kg_api.schemas.embedding import date_and_people, fill_template
from kg_api.schemas.metadata import MetadataValue
from kg_api.text.markdown import plain_title
from kg_api.text.sources import Borders, Measure, cut, is_blank, prose_levels, sentence_borders, words

Span = tuple[int, int]
"""(start, end) in code points, end excluded."""
SentenceVectors = Callable[[Sequence[str]], NDArray[np.float32]]
"""Vectors of length 1, shape (sentences, dimensions), that tell where the meaning moves."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One source's place. The paragraphs of a document join to its whole text."""

    start: int
    end: int
    heading: tuple[str, ...] = ()
    """The path of headings above it, the highest first; paragraphs of one section have the same."""


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """One chunk: text[start:end], no blank at either end."""

    start: int
    end: int
    parent: tuple[int, int] | None = None
    """The span that is given to the reader in its place; `hierarchical` only."""


# Where a text may be cut inside a sentence: at clauses, words and, where no space comes, characters.

_STOPS = "、。，．！？；：｡､।॥"
"""Marks that end a word where no space follows."""
_ON_TOP = "\u0300-\u036f\u20d0-\u20f0\ufe00-\ufe0f\u200d"
"""What joins the character before it, be it a stop."""
_WORD = re.compile(rf"[^\s{_STOPS}]+[{_STOPS}{_ON_TOP}]*|[{_STOPS}][{_STOPS}{_ON_TOP}]*")
_CLAUSE = re.compile(r"[,;:–—،؛]\s+|[，、；：､]\s*")
_CLUSTER = regex.compile(r"\X")
_MAX_CLUSTER_LENGTH = 24
"""Code points. The longest emoji has ten; above this somebody stacks marks without end."""


def find_words(text: str, start: int, end: int) -> Iterator[Span]:
    """Give the words of text[start:end], without the white space between them."""
    return (word.span() for word in _WORD.finditer(text, start, end))


def word_borders(text: str, start: int, end: int) -> Iterator[int]:
    """At the beginning of each word."""
    return (begin for begin, _ in find_words(text, start, end) if begin > start)


def clause_borders(text: str, start: int, end: int) -> Iterator[int]:
    """After commas, colons, semicolons and dashes."""
    return (border for found in _CLAUSE.finditer(text, start, end) if (border := found.end()) < end)


def clusters(text: str, start: int, end: int, longest: int) -> Iterator[Span]:
    """Cut text[start:end] between characters as a reader sees them.

    The pieces have at most `longest` code points, or are one such character of at most 24.
    """
    begin = start
    for cluster in _CLUSTER.finditer(text, start, end):
        if cluster.end() - begin > longest and cluster.start() > begin:
            yield begin, cluster.start()
            begin = cluster.start()
        while cluster.end() - begin > max(longest, _MAX_CLUSTER_LENGTH):
            yield begin, begin + _MAX_CLUSTER_LENGTH
            begin += _MAX_CLUSTER_LENGTH
    if begin < end:
        yield begin, end


# A fixed number of words a chunk, whatever they say.

_LONG_WORD = 10
"""Characters that `words` counts as one more word: no chunk has more than size times this."""
_KEPT_WHOLE = 4
"""What is written without spaces is kept whole up to this share of a chunk."""


def by_count(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Cut a text into chunks of exactly `size` words, the last one less; each begins `overlap` words early.

    Where words are longer than ten characters, or no spaces come between them, a chunk has as many as `words`
    counts for `size`, and the overlap is as much as whole words allow.
    """
    coming = _words(text, size // _KEPT_WHOLE)
    ready = deque[Span]()
    fresh = 0  # atoms in `ready` that the last chunk had
    while _fill(ready, coming, size) > fresh:
        taken = _fitting(text, list(ready), size)
        yield ready[0][0], ready[taken - 1][1]
        fresh = _count_repeated(text, list(islice(ready, taken)), overlap)
        for _ in range(taken - fresh):
            ready.popleft()


def _words(text: str, whole: int) -> Iterator[Span]:
    """The words, and pieces of what counts for more than `whole` words."""
    for start, end in find_words(text, 0, len(text)):
        if end - start <= 2 * whole or words(text, start, end) <= whole:
            yield start, end
        else:
            yield from clusters(text, start, end, whole)


def _fill(ready: deque[Span], coming: Iterator[Span], size: int) -> int:
    """Let so many words come that a chunk cannot have more; give their number."""
    visible = sum(end - start for start, end in ready)
    while len(ready) <= size or visible <= size * _LONG_WORD:
        if (atom := next(coming, None)) is None:
            break
        ready.append(atom)
        visible += atom[1] - atom[0]
    return len(ready)


def _fitting(text: str, ready: list[Span], size: int) -> int:
    """How many of the first words make a chunk."""
    begin = ready[0][0]
    whole = len(ready) > size and text[ready[size][0] - 1].isspace()
    if whole and words(text, begin, ready[size - 1][1]) == size:
        return size  # the usual case, without a search
    return max(1, bisect_right(ready, size, key=lambda atom: words(text, begin, atom[1])))


def _count_repeated(text: str, chunk: list[Span], overlap: int) -> int:
    """How many of a chunk's last words the next one begins with."""
    if not overlap:
        return 0
    end = chunk[-1][1]
    return bisect_right(chunk[:0:-1], overlap, key=lambda atom: words(text, atom[0], end))


# Cutting what is too long at the best borders it has, into pieces of about equal length.

_FIRST_MARK, _JOINER = "\u0300", "\u200d"
_FINEST = 8
"""What the last level cuts, words without end, it cuts into parts of at most this share of a piece."""


def characters(text: str, start: int, end: int) -> int:
    """Count code points; `words` of kg_api.text.sources is the other measure."""
    del text
    return end - start


def divide(text: str, span: Span, measure: Measure, most: int) -> list[Span]:
    """Cut text[start:end] into pieces of at most `most`, as even as good borders allow; they join to it.

    Sentences and lines are the best borders, then clauses, then words, then the characters of a word.
    """
    size = measure(text, *span)
    if size <= most:
        return [span]
    finest = max(1, most // _FINEST)  # characters; a word has two and more

    def cluster_borders(text: str, start: int, end: int) -> Iterator[int]:
        return (begin for begin, _ in clusters(text, start, end, finest) if begin > start)

    prose = prose_levels(text, *span, words(text, *span))[:2]  # lines and sentences, the better first
    better = (_unbroken(kind) for kind in (*prose, clause_borders, word_borders))
    return cut(text, span, size, (*better, cluster_borders), above=most, most=most, measure=measure)


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Give the sentences of text[start:end]; they join to it."""
    return pairwise(chain((start,), _unbroken(sentence_borders)(text, start, end), (end,)))


def trim(text: str, start: int, end: int) -> Span | None:
    """The span without white space at its ends; None when there is nothing to see in it."""
    if is_blank(text, start, end):
        return None
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())


def _unbroken(borders: Borders) -> Borders:
    """Leave out the borders before a mark that is written on the character before it."""

    def kept(text: str, start: int, end: int) -> Iterator[int]:
        return (at for at in borders(text, start, end) if not _joins(text, at))

    return kept


def _joins(text: str, at: int) -> bool:
    character = text[at]
    return (
        character >= _FIRST_MARK
        and (category(character)[0] == "M" or character == _JOINER)
        and not text[at - 1].isspace()
    )


# Paragraphs of one section, together.

SLACK = 1.2
"""A section of up to this times the size stays one chunk, and so much has room where it must."""


def by_group(text: str, paragraphs: Sequence[Paragraph], size: int, overlap: int) -> Iterator[Span]:
    """Join the paragraphs of a section to chunks of at most `size` words.

    With `overlap` the last paragraph of several is the first of the next chunk too, where it has room with
    the paragraph that follows. A paragraph of more than 1.2 times the size is cut, at sentences.
    """
    for _, section in groupby(paragraphs, key=lambda paragraph: paragraph.heading):
        yield from _section(_parts(text, section, round(size * SLACK)), size, overlap)


def _parts(text: str, section: Iterator[Paragraph], most: int) -> list[tuple[Span, int]]:
    """Paragraphs and pieces of long ones, with their words; nothing blank."""
    pieces = (piece for each in section for piece in divide(text, (each.start, each.end), words, most))
    seen = filter(None, (trim(text, *piece) for piece in pieces))
    return [(piece, words(text, *piece)) for piece in seen]


def _section(parts: list[tuple[Span, int]], size: int, overlap: int) -> Iterator[Span]:
    most = round(size * SLACK)
    if not parts:
        return
    (start, _), (_, end) = parts[0][0], parts[-1][0]
    if sum(part for _, part in parts) <= most:
        yield start, end
        return
    first, filled = 0, 0
    for at, (_, part) in enumerate(parts):
        if at > first and filled + part > size:
            yield parts[first][0][0], parts[at - 1][0][1]
            repeat = overlap and at - first > 1 and parts[at - 1][1] + part <= most
            first = at - 1 if repeat else at
            filled = parts[first][1] if repeat else 0
        filled += part
    yield parts[first][0][0], end


# Small chunks that are found, inside large ones that are read.


def by_hierarchy(
    text: str, paragraphs: Sequence[Paragraph], size: int, overlap: int, parent_size: int
) -> Iterator[ChunkSpan]:
    """Give children of at most `size` characters inside parents of at most `parent_size`.

    A parent is whole paragraphs where they fit. Each child but a parent's first begins as many whole words
    before the end of the former as `overlap` characters hold.
    """
    for start, end in _parents(text, paragraphs, parent_size):
        if parent := trim(text, start, end):
            for child in _children(text, parent, size, overlap):
                yield ChunkSpan(*child, parent)


def _children(text: str, parent: Span, size: int, overlap: int) -> Iterator[Span]:
    former = (parent[0], parent[0])
    for piece in divide(text, parent, characters, size - overlap):
        if core := trim(text, *piece):
            yield _earlier(text, former, core[0], overlap), core[1]
            former = core


def _parents(text: str, paragraphs: Iterable[Paragraph], most: int) -> Iterator[Span]:
    """Join paragraphs as long as they fit; cut those that do not fit alone."""
    begin = end = 0
    for paragraph in paragraphs:
        if end > begin and paragraph.end - begin > most:
            yield begin, end
            begin = end
        if paragraph.end - begin > most:
            yield from divide(text, (begin, paragraph.end), characters, most)
            begin = paragraph.end
        end = paragraph.end
    if end > begin:
        yield begin, end


def _earlier(text: str, former: Span, begin: int, overlap: int) -> int:
    """Where a child begins so that it repeats the end of the former one."""
    if not overlap:
        return begin
    low = max(former[0] + 1, begin - overlap)
    for start, end in find_words(text, former[0], begin):
        if start >= low:
            return start
        if end - low > overlap // 2:  # a long word, or a script without spaces: repeat its end
            return next((at for at, _ in clusters(text, start, end, 1) if at >= low), begin)
    return begin


# Neighbouring chunks joined to windows, in which a model reads them: context mode `late`.

WINDOW_VERSION = "1"
"""Another version means other windows from the same text, or other vectors from the same window."""
MIN_FILL = 2
"""A window but the last is filled to at least 1 / MIN_FILL, so that there is a choice where it ends."""

CHARACTERS = 50
"""So many count as a token at least: of what has no tokens a window is not to be endless."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much a model reads at once."""

    tokens: Callable[[str], int]
    """Of a text, without prefix and special tokens."""
    most: int
    """Tokens of a window."""
    fits: Callable[[str], bool]
    """Whether the model takes a text whole, to the token."""


def windows(text: str, spans: Sequence[ChunkSpan], paragraphs: Sequence[Paragraph], room: Room) -> list[Span]:
    """Give each chunk the window that it is embedded in.

    A window is consecutive chunks and what is between them. It ends with a section if it can, else with a
    paragraph, else with a chunk; of several such places it is the one whose chunk has the largest hash: so an
    edit moves the borders that are near, and not all that follow.

    Args:
        text: the whole text.
        spans: its chunks in order, each of which fits.
        paragraphs: its sources.
        room: the model's.

    Returns:
        As many as there are chunks; those of one window are equal.
    """
    ends, sizes = _Ends(text, spans, paragraphs), _sizes(text, spans, room)
    found: list[Span] = []
    while len(found) < len(spans):
        first = len(found)
        last = _last(ends, sizes, first, room.most)
        while last > first and not room.fits(text[slice(*_hull(spans, first, last))]):
            last -= 1  # some texts have more tokens together than one by one
        found += [_hull(spans, first, last)] * (last + 1 - first)
    return found


class _Ends:
    """How well a window ends behind a chunk."""

    def __init__(self, text: str, spans: Sequence[ChunkSpan], paragraphs: Sequence[Paragraph]) -> None:
        self._text = text
        self._spans = spans
        self._paragraphs = paragraphs
        self._starts = [paragraph.start for paragraph in paragraphs]

    def quality(self, at: int) -> tuple[bool, bool, bytes]:
        """The better the larger."""
        span, following = self._spans[at], self._spans[at + 1]
        here = bisect_left(self._starts, span.end) - 1
        there = bisect_left(self._starts, following.start + 1) - 1
        said = self._text[span.start : span.end].encode(errors="replace")
        return self._heading(here) != self._heading(there), here != there, blake2b(said).digest()

    def _heading(self, at: int) -> tuple[str, ...]:
        return self._paragraphs[at].heading


def _last(ends: _Ends, sizes: Sequence[Span], first: int, most: int) -> int:
    """The chunk that a window ends with."""
    filled, last, enough = 0, first, first
    for at in range(first, len(sizes)):
        whole, until_next = sizes[at]
        if at > first and filled + whole > most:
            break
        last = at
        if (filled + whole) * MIN_FILL < most:
            enough = at + 1
        filled += until_next
    else:
        return last
    return max(range(min(enough, last), last + 1), key=ends.quality)


def _sizes(text: str, spans: Sequence[ChunkSpan], room: Room) -> list[Span]:
    """The tokens of each chunk, and those of it before the next one begins."""
    sizes: list[Span] = []
    for at, span in enumerate(spans):
        whole = _size(text[span.start : span.end], room)
        overlaps = at + 1 < len(spans) and spans[at + 1].start < span.end
        sizes.append((whole, _size(text[span.start : spans[at + 1].start], room) if overlaps else whole))
    return sizes


def _size(text: str, room: Room) -> int:
    return max(room.tokens(text), len(text) // CHARACTERS, 1)


def _hull(spans: Sequence[ChunkSpan], first: int, last: int) -> Span:
    return spans[first].start, max(span.end for span in spans[first : last + 1])


# The line before a chunk when it is embedded: where it stands, who wrote it, and when.

MAX_LINE_LENGTH = 300
"""Characters of a line, about 75 tokens: the rest is for the text."""
_MARKS = "#=-~^*+\"'`_: \t"
"""What stands around a heading's words in Markdown and reStructuredText."""
_LINES = 12
"""Lines in which a chunk's own headings are looked for."""


def template(
    title: str, heading: Sequence[str], metadata: Mapping[str, MetadataValue], text: str = ""
) -> str:
    """Give one line of title, headings, date and author, of at most 300 characters; empty when none is known.

    Args:
        title: the document's title.
        heading: the path of headings above the chunk, the highest first.
        metadata: the document's; of its keys `date`, `published`, `updated` or `created`, and `author`,
            `authors` or `by` are used.
        text: the chunk; headings that it begins with are not repeated.
    """
    path = _path(_without_repeats((title, *heading)), text)
    rest = map(_in_bounds, date_and_people(metadata))
    ending = ", ".join(part for part in rest if part)
    line = _shorten(path, MAX_LINE_LENGTH - (len(ending) + 3 if ending else 0))
    return f"{line} ({ending})" if line and ending else line or ending


def by_template(
    pattern: str, title: str, heading: Sequence[str], metadata: Mapping[str, MetadataValue], text: str = ""
) -> str:
    """Give the line of an ontology's own template, of at most 300 characters; else it is as `template`."""
    date, people = map(_in_bounds, date_and_people(metadata))
    above = _without_repeats((title, *heading))[1:] if title else heading
    path = _shorten(_path(above, text), MAX_LINE_LENGTH // 2)
    values = {"title": plain_title(title), "heading": path, "date": date, "author": people}
    return fill_template(pattern, values)[:MAX_LINE_LENGTH].rstrip()


def _path(names: Iterable[str], text: str) -> list[str]:
    """Headings but for those that the text begins with."""
    own = {_fold(name) for name in _first_headings(text)}
    return [name for name in map(plain_title, names) if name and _fold(name) not in own]


def contextual(before: str, text: str) -> str:
    """The text with its context in front, as it is embedded."""
    return f"{before}\n\n{text}" if before else text


def _without_repeats(names: Iterable[str]) -> list[str]:
    """The first heading of a document is mostly its title."""
    kept: list[str] = []
    for name in names:
        if not kept or _fold(kept[-1]) != _fold(name):
            kept.append(name)
    return kept


def _first_headings(text: str) -> Iterable[str]:
    """Lines at the beginning of a chunk that may be headings, without their marks."""
    return islice((name for line in text[:2000].splitlines() if (name := line.strip(_MARKS))), _LINES)


def _fold(name: str) -> str:
    return " ".join(plain_title(name).casefold().split())


def _in_bounds(value: str) -> str:
    return value if len(value) <= MAX_LINE_LENGTH // 4 else value[: MAX_LINE_LENGTH // 4 - 1].rstrip() + "…"


def _shorten(path: Sequence[str], most: int) -> str:
    """Join the path with `most` characters: its middle is left out first, then the ends of its names."""
    names = list(path)
    while len(line := " > ".join(names)) > most and len(names) > 1:
        middle = 1 if "…" not in names else 2
        if len(names) - middle < 2:  # noqa: PLR2004 - the first and the last say most
            break
        names[1 : middle + 1] = ["…"]
    if len(line) <= most:
        return line
    share = (most - len(" > ") * (len(names) - 1) - names.count("…")) // (len(names) - names.count("…"))
    return " > ".join(name if len(name) <= share else name[: share - 1].rstrip() + "…" for name in names)


# Chunks that the model takes whole.

SpansOf = Callable[[str, str], Sequence[Span]]
"""`Embedder.spans`: cuts a text so that its pieces fit the model with another text in front of each."""


def fit_chunks(
    text: str, spans: Sequence[ChunkSpan], spans_of: SpansOf, before: Callable[[ChunkSpan], str]
) -> list[ChunkSpan]:
    """Cut the chunks that are over the model's limit with their context in front; nothing is left out.

    Args:
        text: the whole text.
        spans: its chunks.
        spans_of: the embedder's `spans`.
        before: gives the context of a chunk, or of a piece of one; it is put in front by `contextual`.

    Returns:
        Chunks that fit, in order; pieces keep the parent of their chunk.

    Raises:
        InvalidInput: a context leaves no room for text.
    """
    fitting: list[ChunkSpan] = []
    todo = list(reversed(spans))
    while todo:
        span = todo.pop()
        found = spans_of(text[span.start : span.end], contextual(before(span), ""))
        places = (trim(text, span.start + start, span.start + end) for start, end in found)
        pieces = [ChunkSpan(*place, span.parent) for place in places if place]
        if len(pieces) > 1:  # a piece can have a longer context than the whole, so it is looked at again
            todo += reversed(pieces)
        else:
            fitting += pieces
    return fitting
