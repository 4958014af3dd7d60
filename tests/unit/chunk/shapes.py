import hashlib
import unicodedata
from collections.abc import Container, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kg_api.schemas.embedding import Chunking
from kg_api.text.borders import ChunkSpan, Paragraph
from kg_api.text.chunking import SLACK, split_to_chunks
from kg_api.text.cutting import count_words
from kg_api.text.documents import parse
from kg_api.text.lines import is_blank
from kg_api.text.sources import split

EVERY = [
    Chunking(strategy="sentence"),
    Chunking(strategy="sentence", chunk_size=5),
    Chunking(strategy="paragraph"),
    Chunking(strategy="paragraph", chunk_size=20),
    Chunking(strategy="count"),
    Chunking(strategy="count", chunk_size=250, overlap=50),
    Chunking(strategy="count", chunk_size=10, overlap=5),
    Chunking(strategy="semantic"),
    Chunking(strategy="semantic", chunk_size=20),
    Chunking(strategy="paragraph_group"),
    Chunking(strategy="paragraph_group", overlap=0),
    Chunking(strategy="paragraph_group", chunk_size=50),
    Chunking(strategy="hierarchical"),
    Chunking(strategy="hierarchical", chunk_size=100, overlap=50, parent_size=200),
    Chunking(strategy="hierarchical", chunk_size=100, overlap=0, parent_size=300),
]
"""Every strategy, as it comes and as small as it can be."""


def name_of(chunking: Chunking) -> str:
    return f"{chunking.strategy}-{chunking.chunk_size}-{chunking.overlap}"


def document(paragraphs: list[tuple[str, str]]) -> tuple[str, list[Paragraph]]:
    text, found = "", list[Paragraph]()
    for heading, said in paragraphs:
        start = len(text)
        text += f"{said}\n\n"
        found.append(Paragraph(start, len(text), (heading,)))
    return text, found


def sources(text: str, name: str) -> list[Paragraph]:
    return [Paragraph(span.start, span.end, span.heading) for span in split(parse(text, name))]


def hashed(texts: Sequence[str]) -> NDArray[np.float32]:
    digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16] for text in texts]
    drawn = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(texts), 16).astype(np.float32) + 1
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def chunked(text: str, paragraphs: Sequence[Paragraph], chunking: Chunking) -> list[ChunkSpan]:
    found = split_to_chunks(text, paragraphs, chunking, hashed)
    assert_whole(text, found, {each.start for each in paragraphs})
    for span in found:
        assert_size(text, span, chunking)
    if chunking.strategy in {"sentence", "paragraph"}:
        assert_inside(found, paragraphs)
    if not chunking.overlap:
        assert all(former.end <= span.start for former, span in pairwise(found))
    return found


def assert_whole(text: str, found: Sequence[ChunkSpan], borders: Container[int] = ()) -> None:
    """Assert order, bounds, no whitespace at the ends, complete text, and whole characters.

    `borders` are the boundaries of the sources.
    """
    covered = begun = 0
    for at, span in enumerate(found):
        assert 0 <= span.start < span.end <= len(text)
        assert not text[span.start].isspace()
        assert not text[span.end - 1].isspace()
        assert not is_blank(text, span.start, span.end)
        assert at == 0 or (span.start > begun and span.end > covered), "one chunk holds another"
        assert is_blank(text, covered, max(covered, span.start))
        assert span.start in borders or not cuts_a_cluster(text, span.start)
        covered, begun = span.end, span.start
    assert is_blank(text, covered, len(text))


def cuts_a_cluster(text: str, start: int) -> bool:
    """Return whether a combining mark is separated from its base, unless very many follow."""
    if not start or text[start - 1].isspace() or unicodedata.category(text[start]) not in {"Mn", "Me"}:
        return False
    before = text[max(0, start - 20) : start]
    return any(unicodedata.category(character) not in {"Mn", "Me", "Cf"} for character in before)


def assert_size(text: str, span: ChunkSpan, chunking: Chunking) -> None:
    if chunking.strategy == "hierarchical":
        assert span.parent is not None
        assert chunking.parent_size is not None
        start, end = span.parent
        assert start <= span.start < span.end <= end
        assert end - start <= chunking.parent_size
        assert span.end - span.start <= chunking.size
        assert not text[start].isspace()
        assert not text[end - 1].isspace()
    else:
        most = round(chunking.size * SLACK) if chunking.strategy == "paragraph_group" else chunking.size
        assert span.parent is None
        assert count_words(text, span.start, span.end) <= most


def assert_inside(found: Sequence[ChunkSpan], paragraphs: Sequence[Paragraph]) -> None:
    ends = iter(paragraphs)
    paragraph = next(ends, None)
    for span in found:
        while paragraph and paragraph.end <= span.start:
            paragraph = next(ends, None)
        assert paragraph
        assert paragraph.start <= span.start
        assert span.end <= paragraph.end
