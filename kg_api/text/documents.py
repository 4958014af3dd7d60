"""Document formats: selection of the parser for a file, and the structure of its text."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath

from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Block, ParsedDocument
from kg_api.schemas.formats import (
    CONVERTED,
    MAILBOXES,
    NOT_READ,
    PROGRAMS,
    UNREAD_PICTURES,
    ConvertedFormat,
    Format,
)
from kg_api.text import markdown, org, rst
from kg_api.text.decoding import EXPORT, READS, check_text, is_image
from kg_api.text.lines import is_blank
from kg_api.text.markdown import FrontMatter, clean_title, read_front_matter
from kg_api.text.programs import parse_program_blocks

Place = tuple[int, int]  # start and end of the text of an image


def with_images(document: ParsedDocument, places: Sequence[Place]) -> ParsedDocument:
    """Return the document with blocks that only contain image text marked as images."""
    if not places:
        return document
    return replace(document, blocks=tuple(_mark_places(document, places)))


def _mark_places(document: ParsedDocument, places: Sequence[Place]) -> Iterator[Block]:
    left = deque(places)
    for block in document.blocks:
        here: list[Place] = []
        while left and left[0][0] < block.end:
            here.append(left.popleft())
        within = [(start, end) for start, end in here if start >= block.start and end <= block.end]
        yield from _divide(document.text, block, within)


def _divide(text: str, block: Block, places: Sequence[Place]) -> Iterator[Block]:
    """Split a block with images and other text into one block for each."""
    at = block.start
    for start, end in places:
        if not is_blank(text, at, start):
            yield replace(block, start=at, end=start)
            at = start
        stop = block.end if is_blank(text, end, block.end) else end
        yield replace(block, kind="image", start=at, end=stop)
        at = stop
    if at < block.end:
        yield replace(block, start=at)


# Parsers by format


@dataclass(frozen=True, slots=True)
class _Reader:
    format: Format
    suffixes: frozenset[str]
    blocks: Callable[[str], Iterable[Block]]
    own_title: Callable[[str], str] = lambda _: ""  # title of the document before its text (empty: none)
    front: Callable[[str], FrontMatter] = lambda _: FrontMatter()  # front matter of the document


def _list_suffixes(names: str) -> frozenset[str]:
    return frozenset(f".{name}" for name in names.split())


_READERS = (
    _Reader("markdown", _list_suffixes("md markdown"), markdown.parse_blocks, front=read_front_matter),
    _Reader("rst", _list_suffixes("rst rest"), rst.parse_blocks, rst.find_pep_title),
    _Reader("org", _list_suffixes("org"), org.parse_blocks, front=org.read_keywords),
    _Reader("text", _list_suffixes("txt text tex"), markdown.split_text_blocks),
    *(
        _Reader("text", frozenset({each}), partial(parse_program_blocks, suffix=each[1:]))
        for each in PROGRAMS
    ),
    *(
        _Reader(form, suffixes, markdown.build_whole_image if form == "image" else markdown.parse_blocks)
        for form, suffixes in CONVERTED.items()
    ),
)
SUFFIXES = frozenset(suffix for reader in _READERS for suffix in reader.suffixes)
"""Suffixes of files that kg ingests from folders, in lower case with their dot."""
CONVERSIONS = {EXPORT: UNREAD_PICTURES, "Save each message as .eml and ingest the results": MAILBOXES}
"""Advice for suffixes that users can convert themselves."""
_PDF = b"%PDF-"
_HIDDEN = re.compile("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def detect_format(name: str, format: Format | None = None, data: bytes = b"") -> Format:  # noqa: A002 - the usual word
    seen = get_plain_format(data) if format is None else None
    return seen or _find_reader(name, format).format


def get_plain_format(data: bytes) -> ConvertedFormat | None:
    if data.startswith(_PDF):
        return "pdf"
    return "image" if is_image(data) else None


def parse(
    text: str,
    name: str,
    format: Format | None = None,  # noqa: A002 - the usual word
) -> ParsedDocument:
    """Parse a text by `format`, or the suffix of `name`. The stem of `name` is the default title."""
    reader = _find_reader(name, format)
    check_text(text)
    front = reader.front(text)
    body = 0 if is_blank(text, front.end, len(text)) else front.end
    blocks = tuple(markdown.parse_blocks(text, body) if body else reader.blocks(text))
    headings = (block.title for block in blocks if block.kind == "heading" and block.level == 1)
    title = (
        clean_title(front.title) or reader.own_title(text) or next(filter(None, headings), "") or _stem(name)
    )
    notes = (*front.notes, *_list_notes(text))
    return ParsedDocument(text, title, reader.format, blocks, notes, body, front.metadata)


def _find_reader(name: str, format: Format | None) -> _Reader:  # noqa: A002 - the usual word
    suffix = PurePath(name).suffix.lower()
    for reader in _READERS:
        if suffix in reader.suffixes and format in {None, reader.format}:
            return reader
    if format is None and suffix in NOT_READ:
        advice = next((each for each, suffixes in CONVERSIONS.items() if suffix in suffixes), READS)
        raise UnreadableDocument(f"{suffix} files are not supported. {advice}")
    return next(reader for reader in _READERS if reader.format == (format or "text"))


def _stem(name: str) -> str:
    path = PurePath(name)
    stem = path.stem if path.suffix.lower() in SUFFIXES else path.name
    return clean_title("".join(character for character in stem if character.isprintable()))


def _list_notes(text: str) -> tuple[str, ...]:
    hidden = 0 if text.isascii() else sum(1 for _ in _HIDDEN.finditer(text))
    return (
        (f"has {hidden} hidden characters (zero-width, or turning the direction of writing)",)
        if hidden
        else ()
    )
