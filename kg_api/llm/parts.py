"""What a language model is shown of a document: all of it, or the stretch in which a chunk stands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from kg_api.models.library.metadata import MODIFIED, MetadataValue

WHOLE = 16_000
"""Bytes of a document that is shown as a whole: about 4,000 tokens of English."""
ENOUGH = 6_000
"""Bytes after which a stretch of a longer one ends with its section."""
MAX_BYTES = 12_000
"""Bytes after which it ends in any case."""
MARGIN = 800
"""Characters of the text before and behind a stretch that are shown with it."""
BEGINNING = 1_500
"""Characters of a document's beginning that are shown with each stretch: it mostly says what it is about."""
MAX_TITLE_LENGTH = 300
_MAX_METADATA = 12
_MAX_VALUE_LENGTH = 100


@dataclass(frozen=True, slots=True)
class HeadedParagraph:
    """A piece of a document with the path of headings above it. The pieces join to the document."""

    text: str
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """What is shown for the chunks that begin within it."""

    title: str
    metadata: tuple[tuple[str, MetadataValue], ...]
    beginning: str
    """Of the document; empty when `text` begins with it."""
    text: str

    def data(self) -> dict[str, object]:
        about: dict[str, object] = {"title": self.title, "metadata": dict(self.metadata)}
        beginning = {"document_begins": self.beginning} if self.beginning else {}
        return {**about, **beginning, "part" if self.beginning else "document": self.text}

    def identity(self) -> str:
        """All that it shows, for a hash."""
        return json.dumps(self.data(), ensure_ascii=False)


def document_parts(
    title: str, metadata: Mapping[str, MetadataValue], paragraphs: Sequence[HeadedParagraph]
) -> tuple[list[DocumentPart], list[int]]:
    """Divide a document into what is shown for its chunks.

    A stretch of a long one ends with a section where it can, so that an edit elsewhere leaves it as it is.

    Returns:
        The parts, and for each paragraph the number of the part for chunks that begin in it.
    """
    about = title[:MAX_TITLE_LENGTH], short_metadata(metadata)
    text = "".join(paragraph.text for paragraph in paragraphs)
    if _size(text) <= WHOLE:
        return [DocumentPart(*about, "", text)], [0] * len(paragraphs)
    parts: list[DocumentPart] = []
    numbers: list[int] = []
    at = 0
    for start, end in _stretches(paragraphs):
        numbers += [len(parts)] * (end - start)
        stop = at + sum(len(paragraph.text) for paragraph in paragraphs[start:end])
        shown = text[max(0, at - MARGIN) : stop + MARGIN]
        parts.append(DocumentPart(*about, text[:BEGINNING] if at > MARGIN else "", shown))
        at = stop
    return parts, numbers


def _stretches(paragraphs: Sequence[HeadedParagraph]) -> Iterator[tuple[int, int]]:
    begin = used = 0
    for at, paragraph in enumerate(paragraphs):
        size = _size(paragraph.text)
        new_section = at > begin and paragraph.headings != paragraphs[at - 1].headings
        if at > begin and (used + size > MAX_BYTES or (used >= ENOUGH and new_section)):
            yield begin, at
            begin, used = at, 0
        used += size
    yield begin, len(paragraphs)


def short_metadata(metadata: Mapping[str, MetadataValue]) -> tuple[tuple[str, MetadataValue], ...]:
    """The first few entries that are short: a date, an author."""
    short = (
        (key, value)
        for key, value in sorted(metadata.items())
        if key != MODIFIED
        and len(key) <= _MAX_VALUE_LENGTH
        and value not in (None, "")
        and len(str(value)) <= _MAX_VALUE_LENGTH
    )
    return tuple(islice(short, _MAX_METADATA))


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))
