"""Seeing that the lines of a bundle fit each other, and the sources that they are about. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kg_api.bundle.lines import unpack
from kg_api.errors import InvalidInput
from kg_api.models.bundle.lines import (
    BundledConcepts,
    BundledDocument,
    BundledLine,
    BundledQuote,
    BundledSource,
    BundledVectors,
)
from kg_api.models.bundle.manifest import LineCounts
from kg_api.models.identity import document_id


class LineOrder:
    """Sees line by line that a file says of whole documents, each once, what fits them.

    Args:
        ontology: whose documents they are.
        dimensions: of the vectors; None: as the first one has it.
    """

    def __init__(self, ontology: str, dimensions: int | None = None) -> None:
        self._ontology = ontology
        self._dimensions = dimensions
        self._known = set[bytes]()
        self._document: BundledDocument | None = None
        self._lengths: dict[int, int] = {}
        """Of the texts of its sources, by their numbers."""
        self._end = 0
        self.counts = LineCounts()

    def add(self, line: BundledLine) -> None:
        """Take the next line.

        Raises:
            InvalidInput: it does not fit.
        """
        if isinstance(line, BundledDocument):
            self._begin(line)
        elif isinstance(line, BundledSource):
            self._add_source(line)
        else:
            self._require_whole()
            self._require_of_document(line)
            if isinstance(line, BundledVectors):
                check_vectors(line, self._lengths)
                self._dimensions = check_sizes(line, self._dimensions)
            else:
                check_concepts(line, self._lengths)
        setattr(self.counts, line.kind, getattr(self.counts, line.kind) + 1)

    def end(self) -> None:
        """See that the last document is whole.

        Raises:
            InvalidInput: it is not.
        """
        self._require_whole()

    def _begin(self, line: BundledDocument) -> None:
        self._require_whole()
        identity = bytes.fromhex(document_id(self._ontology, line.document))
        if identity in self._known:
            raise InvalidInput(f"a duplicate document: {line.document!r}")
        self._known.add(identity)
        self._document, self._lengths, self._end = line, {}, len(line.preface)

    def _add_source(self, line: BundledSource) -> None:
        if self._document is None:
            raise InvalidInput("a source stands before any document")
        if len(self._lengths) >= self._document.sources:
            raise InvalidInput(
                f"{self._document.document!r} has more sources than the {self._document.sources} it tells of"
            )
        if line.start != self._end or line.end > self._document.characters:
            raise InvalidInput("a source does not begin where the one before it ends")
        if any(start > len(line.text) for _, start in line.blocks):
            raise InvalidInput("a block begins behind its source")
        self._lengths[len(self._lengths)] = len(line.text)
        self._end = line.end

    def _require_whole(self) -> None:
        if self._document is not None and len(self._lengths) < self._document.sources:
            raise InvalidInput(
                f"{self._document.document!r} has only {len(self._lengths)} of the "
                f"{self._document.sources} sources that it tells of"
            )

    def _require_of_document(self, line: BundledVectors | BundledConcepts) -> None:
        known = self._document
        if known is None or (line.document, line.content_hash) != (known.document, known.content_hash):
            raise InvalidInput(f"it is about {line.document!r}, which is not the document before it")


def check_vectors(line: BundledVectors, lengths: Mapping[int, int]) -> None:
    """See that vectors and chunks are of sources that are there.

    Args:
        line: of a document.
        lengths: of the texts of its sources, in code points, by their numbers.

    Raises:
        InvalidInput: they are not.
    """
    covered = {at for each in line.chunks for at in range(each.first, each.last + 1)}
    if not lengths.keys() >= covered.union(line.paragraphs):
        raise InvalidInput("it is about a source that is not there")
    for chunk in line.chunks:
        if chunk.offset > lengths[chunk.first] or chunk.end_offset > lengths[chunk.last]:
            raise InvalidInput("a chunk goes beyond its source")
    covered.update(at for at, own in zip(line.paragraphs, line.vectors, strict=True) if own)
    if bare := [at for at in line.paragraphs if at not in covered]:
        raise InvalidInput(f"the source {bare[0]} has neither a vector nor a chunk")


def check_sizes(line: BundledVectors, dimensions: int | None = None) -> int | None:
    """See that all vectors have so many dimensions, or as many as the first one has; gives how many.

    Raises:
        InvalidInput: one has not, or is none that an index takes.
    """
    for vector in (*line.vectors, *(each.vector for each in line.chunks)):
        if vector is None:
            continue
        size = len(unpack(vector))
        dimensions = dimensions or size
        if size != dimensions:
            raise InvalidInput(f"a vector has {size} dimensions; those of its space have {dimensions}")
    return dimensions


def check_concepts(line: BundledConcepts, lengths: Mapping[int, int]) -> None:
    """See that quotes are within a source that is there.

    Args:
        line: of a document.
        lengths: of the texts of its sources, in code points, by their numbers.

    Raises:
        InvalidInput: one is not.
    """
    if line.paragraph not in lengths:
        raise InvalidInput("it is about a source that is not there")
    length = lengths[line.paragraph]
    if any(not each.start < each.end <= length for each in _quotes(line)):
        raise InvalidInput("a quote is not within its source")


def _quotes(line: BundledConcepts) -> Iterable[BundledQuote]:
    yield from (quote for each in line.concepts for quote in each.quotes)
    yield from (each.quote for each in line.relations if each.quote)
