"""Which chunks some sources shall have, and what is embedded for each. No vector is made here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kg_api.chunk.fit import fitted
from kg_api.chunk.plan import chunk
from kg_api.chunk.spans import ChunkSpan, Paragraph, SentenceVectors
from kg_api.graph.chunks import ChunkPlace
from kg_api.graph.database import Graph
from kg_api.graph.due import SourceText, sources_of_document
from kg_api.models.chunking import Chunking
from kg_api.models.identity import digest

SpansOf = Callable[[str, str], list[tuple[int, int]]]
"""The model's own cutting: a text, and what stands before each piece of it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Sources that are chunked together: one by itself, or all of a document."""

    sources: Sequence[SourceText]
    text: str = field(init=False)
    starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        starts, at = list[int](), 0
        for source in self.sources:
            starts.append(at)
            at += len(source.full_text)
        object.__setattr__(self, "text", "".join(source.full_text for source in self.sources))
        object.__setattr__(self, "starts", starts)

    def paragraphs(self) -> list[Paragraph]:
        """As the strategies take them."""
        ends = [*self.starts[1:], len(self.text)]
        return [
            Paragraph(start, end, source.heading)
            for source, start, end in zip(self.sources, self.starts, ends, strict=True)
        ]

    def covered(self, start: int, end: int) -> tuple[int, int]:
        """The first and the last source that text[start:end] touches, by their number here."""
        return bisect_right(self.starts, start) - 1, max(0, bisect_left(self.starts, end) - 1)


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """A chunk as it shall be."""

    sources: Sequence[SourceText]
    """Those that it covers."""
    offset: int
    end_offset: int
    text: str
    """What it says."""
    before: str = ""
    """The context that is embedded in front of it."""
    parent: PlannedChunk | None = None

    @property
    def is_source(self) -> bool:
        """Whether it says all that its one source says, and is read by itself: then it needs no node."""
        own = len(self.sources) == 1 and self.text == self.sources[0].full_text.strip()
        return own and (self.parent is None or self.parent.text == self.text)

    def place(self, space: str) -> ChunkPlace:
        """Where it is; its id tells all that decides over its vector and its reader's text."""
        ids = tuple(source.source_id for source in self.sources)
        around = "" if self.parent is None else self.parent.place(space).chunk_id
        span = (str(self.offset), str(self.end_offset))
        identity = digest("chunk", space, *ids, *span, self.before, self.text, around)
        return ChunkPlace(identity, self.sources[0].document_id, ids, self.offset, self.end_offset)


Before = Callable[[Sequence[tuple[SourceText, str]]], Sequence[str]]
"""The contexts of some chunks, each given by its first source and its text."""


class Planner:
    """Plans chunks for one configuration; remembers the last document: a large one comes in many batches."""

    def __init__(
        self, graph: Graph, chunking: Chunking, spans_of: SpansOf, sentence_vectors: SentenceVectors | None
    ) -> None:
        self._graph = graph
        self._chunking = chunking
        self._spans_of = spans_of
        self._sentence_vectors = sentence_vectors
        self._document: tuple[Passage, list[PlannedChunk]] | None = None

    def chunks(self, due: Sequence[SourceText], before: Before) -> list[PlannedChunk]:
        """The chunks that touch the sources given, which are in reading order."""
        if not self._chunking.crosses_sources:
            return self.of_passages(self.passages(due), before)
        wanted = {source.source_id: source for source in due}
        found: list[PlannedChunk] = []
        for document_id in dict.fromkeys(source.document_id for source in due):
            planned = self._of_document(document_id, wanted, before)
            found += (each for each in planned if any(s.source_id in wanted for s in each.sources))
        return found

    def passages(self, sources: Sequence[SourceText]) -> list[Passage]:
        """What is chunked together: each source by itself, or all that are given."""
        return [Passage(sources)] if self._chunking.crosses_sources else [Passage([each]) for each in sources]

    def of_passages(self, passages: Sequence[Passage], before: Before) -> list[PlannedChunk]:
        """All chunks of some passages, in reading order."""
        return list(self._planned(passages, before))

    def _of_document(
        self, document_id: str, due: dict[str, SourceText], before: Before
    ) -> list[PlannedChunk]:
        if self._document is None or not _is_current(self._document[0], document_id, due):
            passage = Passage(sources_of_document(self._graph, document_id))
            self._document = (passage, list(self._planned([passage] if passage.sources else [], before)))
        return self._document[1]

    def _planned(self, passages: Sequence[Passage], before: Before) -> Iterator[PlannedChunk]:
        spans = [(passage, span) for passage in passages for span in self._spans(passage)]
        contexts = before([(_first(*each), each[0].text[each[1].start : each[1].end]) for each in spans])
        for (passage, span), context in zip(spans, contexts, strict=True):
            parent = None if span.parent is None else _planned_chunk(passage, *span.parent)
            for piece in fitted(passage.text, [span], self._spans_of, lambda _, own=context: own):
                yield _planned_chunk(passage, piece.start, piece.end, context, parent)

    def _spans(self, passage: Passage) -> list[ChunkSpan]:
        return chunk(passage.text, passage.paragraphs(), self._chunking, self._sentence_vectors)


def _first(passage: Passage, span: ChunkSpan) -> SourceText:
    return passage.sources[passage.covered(span.start, span.end)[0]]


def _planned_chunk(
    passage: Passage, start: int, end: int, before: str = "", parent: PlannedChunk | None = None
) -> PlannedChunk:
    first, last = passage.covered(start, end)
    sources = passage.sources[first : last + 1]
    offset, end_offset = start - passage.starts[first], end - passage.starts[last]
    return PlannedChunk(sources, offset, end_offset, passage.text[start:end], before, parent)


def _is_current(passage: Passage, document_id: str, due: dict[str, SourceText]) -> bool:
    """Whether a remembered document still says what the sources that were just read say."""
    if not passage.sources or passage.sources[0].document_id != document_id:
        return False
    there = {source.source_id: source for source in passage.sources}
    mine = (source for source in due.values() if source.document_id == document_id)
    return all(there.get(source.source_id) == source for source in mine)
