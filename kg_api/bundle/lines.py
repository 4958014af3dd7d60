"""Reading lines of a bundle one by one, and seeing that each fits those before it. Pure."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from pydantic import ValidationError

from kg_api.errors import InvalidInput
from kg_api.models.bundle.lines import (
    LINE,
    MAX_LINE_BYTES,
    BundledConcepts,
    BundledDocument,
    BundledLine,
    BundledQuote,
    BundledSource,
    BundledVectors,
)
from kg_api.models.bundle.manifest import LineCounts
from kg_api.models.identity import document_id
from kg_api.models.problems import describe_problems

CheckBounds = Callable[[bytes], None]
"""Refuses JSON that is nested too deeply or has too many values, by a ValueError."""
NUMBERS = "<f4"
FLOAT_BYTES = 4


def read_line(raw: bytes, check_bounds: CheckBounds) -> BundledLine:
    """A line of a bundle.

    Raises:
        InvalidInput: saying what is wrong with it.
    """
    if len(raw) > MAX_LINE_BYTES:
        raise InvalidInput(f"it is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        check_bounds(raw)
        return LINE.validate_json(raw)
    except ValidationError as error:
        raise InvalidInput(describe_problems(error.errors(include_url=False, include_input=False))) from None
    except ValueError as error:
        raise InvalidInput(f"it {error}") from None


def read_lines(content: bytes, check_bounds: CheckBounds) -> Iterator[BundledLine]:
    """The lines of a part of a file.

    Raises:
        InvalidInput: naming the first line that is wrong.
    """
    for number, raw in enumerate(content.rstrip(b"\n").split(b"\n"), start=1):
        try:
            yield read_line(raw, check_bounds)
        except InvalidInput as error:
            raise InvalidInput(f"line {number}: {error}") from None


def pack(vector: Sequence[float]) -> str:
    """A vector as a line has it: base64 of 32-bit floats, the lowest byte first."""
    return base64.b64encode(np.asarray(vector, dtype=NUMBERS).tobytes()).decode()


def unpack(vector: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """A vector of a line.

    Raises:
        InvalidInput: it is none that an index takes.
    """
    content = base64.b64decode(vector)
    if len(content) % FLOAT_BYTES:
        raise InvalidInput("a vector is no row of 32-bit floats")
    values = np.frombuffer(content, dtype=NUMBERS).astype(np.float32)
    if not np.isfinite(values).all():
        raise InvalidInput("a vector holds NaN or infinite values")
    if not values.any():
        raise InvalidInput("a vector is zero; it has no direction")
    return values


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
        self._lengths: list[int] = []
        """Of the texts of its sources."""
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
                self._check_vectors(line)
            else:
                self._check_concepts(line)
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
        self._document, self._lengths, self._end = line, [], len(line.preface)

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
        self._lengths.append(len(line.text))
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

    def _check_vectors(self, line: BundledVectors) -> None:
        places = [*line.paragraphs, *(each.last for each in line.chunks)]
        if max(places) >= len(self._lengths):
            raise InvalidInput("it is about a source that is not there")
        for chunk in line.chunks:
            if chunk.offset > self._lengths[chunk.first] or chunk.end_offset > self._lengths[chunk.last]:
                raise InvalidInput("a chunk goes beyond its source")
        self._check_sizes([*line.vectors, *(each.vector for each in line.chunks)])
        there = {at for each in line.chunks for at in range(each.first, each.last + 1)}
        there.update(at for at, own in zip(line.paragraphs, line.vectors, strict=True) if own)
        if bare := [at for at in line.paragraphs if at not in there]:
            raise InvalidInput(f"the source {bare[0]} has neither a vector nor a chunk")

    def _check_sizes(self, vectors: Sequence[str | None]) -> None:
        for vector in vectors:
            if vector is None:
                continue
            size = len(unpack(vector))
            self._dimensions = self._dimensions or size
            if size != self._dimensions:
                raise InvalidInput(
                    f"a vector has {size} dimensions; those of its space have {self._dimensions}"
                )

    def _check_concepts(self, line: BundledConcepts) -> None:
        if line.paragraph >= len(self._lengths):
            raise InvalidInput("it is about a source that is not there")
        length = self._lengths[line.paragraph]
        if any(not each.start < each.end <= length for each in _quotes(line)):
            raise InvalidInput("a quote is not within its source")


def _quotes(line: BundledConcepts) -> Iterable[BundledQuote]:
    yield from (quote for each in line.concepts for quote in each.quotes)
    yield from (each.quote for each in line.relations if each.quote)
