"""Ids: hashes of where a thing is and what it says, never of its text alone."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

ID_DIGITS = 32


def digest(*parts: str) -> str:
    """32 hexadecimal digits; the parts are kept apart, so ("ab", "c") differs from ("a", "bc")."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode()).hexdigest()[:ID_DIGITS]


def document_id(ontology: str, document: str) -> str:
    """The id of a document by its name within its ontology."""
    return digest("document", ontology, document)


def content_hash(text: str) -> str:
    """The hash of what a source says; blanks behind it do not count.

    Blanks before it do: offsets of its chunks are counted from its first character.
    """
    return digest("content", text.rstrip())


def source_ids(document: str, hashes: Iterable[str]) -> Iterator[str]:
    """Ids of a document's sources in reading order; equal paragraphs are told apart by their count.

    A paragraph keeps its id, and so its vector and evidence, wherever in the document it moves.
    """
    seen: Counter[str] = Counter()
    for content in hashes:
        yield digest("source", document, content, str(seen[content]))
        seen[content] += 1


def chunk_id(source: str, start: int, end: int) -> str:
    """The id of a chunk by its place in its source."""
    return digest("chunk", source, str(start), str(end))


def scope_of_ontology(name: str) -> str:
    """One full-text token that stands for an ontology, whatever the analyzer does to names."""
    return "kgo" + digest("ontology", name)


def scope_of_document(identity: str) -> str:
    """One full-text token that stands for a document."""
    return "kgd" + identity
