"""Chunk planning: the chunks of sources and their text to embed. No vectors are computed here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from kg_api.graph.client import Graph
from kg_api.graph.vectors import ChunkPlace, SourceText, list_document_sources, read_document_versions
from kg_api.providers.embedding_port import Embedder, TextPart
from kg_api.schemas.base import compute_digest
from kg_api.schemas.embedding import Chunking
from kg_api.text.borders import ChunkSpan, Paragraph, SentenceVectors
from kg_api.text.chunking import fit_chunks, split_to_chunks
from kg_api.text.contexts import add_context
from kg_api.text.windows import WINDOW_VERSION, Room, find_windows


def split_parts(
    text: str,
    paragraphs: Sequence[Paragraph],
    spans: Sequence[ChunkSpan],
    befores: Sequence[str],
    embedder: Embedder,
) -> list[TextPart]:
    found = find_windows(text, spans, paragraphs, get_context_size(embedder))
    texts = {window: text[slice(*window)] for window in found}  # shared by all chunks of a window
    return [
        TextPart(texts[window], span.start - window[0], span.end - window[0], before)
        for span, before, window in zip(spans, befores, found, strict=True)
    ]


def get_context_size(embedder: Embedder) -> Room:
    around = embedder.count_tokens([""])  # prefix and special tokens
    return Room(
        tokens=lambda text: embedder.count_tokens([text]) - around,
        most=embedder.identity.max_tokens - around,
        fits=lambda text: len(embedder.spans(text)) == 1,
    )


@dataclass(frozen=True, slots=True)
class SourceGroup:
    """Sources that are chunked together: a single source, or all sources of a document."""

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
        ends = [*self.starts[1:], len(self.text)]
        return [
            Paragraph(start, end, source.heading)
            for source, start, end in zip(self.sources, self.starts, ends, strict=True)
        ]

    def find_covered(self, start: int, end: int) -> tuple[int, int]:
        """Return the indexes of the first and the last source that text[start:end] touches."""
        return bisect_right(self.starts, start) - 1, max(0, bisect_left(self.starts, end) - 1)


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    sources: Sequence[SourceText]
    offset: int
    end_offset: int
    text: str
    before: str = ""  # the context that is embedded before the text
    parent: PlannedChunk | None = None
    within: TextPart | None = None  # position in its embedding window. None: embedded separately

    @property
    def is_source(self) -> bool:
        """True if the chunk equals its only source, without a window or larger parent. It needs no node."""
        own = len(self.sources) == 1 and self.text == self.sources[0].full_text.strip()
        return own and self.within is None and (self.parent is None or self.parent.text == self.text)

    def build_place(self, space: str) -> ChunkPlace:
        """Return the place of the chunk. Its id covers everything that affects its vector and text."""
        ids = tuple(source.source_id for source in self.sources)
        around = "" if self.parent is None else self.parent.build_place(space).chunk_id
        span = (str(self.offset), str(self.end_offset))
        known = (*ids, *span, self.before, self.text, around, *self._get_window())
        identity = compute_digest("chunk", space, *known)
        return ChunkPlace(identity, self.sources[0].document_id, ids, self.offset, self.end_offset)

    def _get_window(self) -> tuple[str, ...]:
        if self.within is None:
            return ()
        return ("late", WINDOW_VERSION, self.within.text, str(self.within.start), str(self.within.end))


Before = Callable[[Sequence[tuple[SourceText, str]]], Sequence[str]]
"""Returns the contexts of chunks, each given by its first source and its text."""


_Piece = tuple[SourceGroup, ChunkSpan, PlannedChunk]


class Planner:
    """Plans chunks for one configuration. Caches the last document, because it may span many batches."""

    def __init__(
        self, graph: Graph, chunking: Chunking, embedder: Embedder, sentence_vectors: SentenceVectors | None
    ) -> None:
        self._graph = graph
        self._chunking = chunking
        self._embedder = embedder
        self._sentence_vectors = sentence_vectors
        self._document: tuple[str, str | None, list[PlannedChunk]] | None = None
        self.versions: dict[str, str | None] = {}
        """Versions of the documents of the last chunks, if chunks depend on more than their sources."""

    def plan_due(self, due: Sequence[SourceText], before: Before) -> list[PlannedChunk]:
        """Return the chunks that touch the given sources. `due` is in reading order."""
        if self._chunking.crosses_sources or self._chunking.context != "none":
            self.versions = read_document_versions(self._graph, (source.document_id for source in due))
        if not self._chunking.crosses_sources:
            return self.plan_passages(self.group_passages(due), before)
        wanted = {source.source_id for source in due}
        found: list[PlannedChunk] = []
        for document_id in self.versions:
            planned = self._plan_document(document_id, before)
            found += (each for each in planned if any(s.source_id in wanted for s in each.sources))
        return found

    def group_passages(self, sources: Sequence[SourceText]) -> list[SourceGroup]:
        """Return groups of sources to chunk together: single sources, or all given sources."""
        return (
            [SourceGroup(sources)]
            if self._chunking.crosses_sources
            else [SourceGroup([each]) for each in sources]
        )

    def plan_passages(self, passages: Sequence[SourceGroup], before: Before) -> list[PlannedChunk]:
        return list(self._plan(passages, before))

    def _plan_document(self, document_id: str, before: Before) -> list[PlannedChunk]:
        version = self.versions[document_id]
        if self._document is None or self._document[:2] != (document_id, version):
            passage = SourceGroup(list_document_sources(self._graph, document_id))
            planned = list(self._plan([passage] if passage.sources else [], before))
            self._document = (document_id, version, planned)
        return self._document[2]

    def _plan(self, passages: Sequence[SourceGroup], before: Before) -> Iterator[PlannedChunk]:
        pieces = self._split_pieces(passages, before)
        if not self._chunking.is_late:
            yield from (planned for _, _, planned in pieces)
            return
        for _, mine in groupby(pieces, key=lambda piece: id(piece[0])):
            yield from self._plan_windows(list(mine))

    def _plan_windows(self, pieces: Sequence[_Piece]) -> Iterator[PlannedChunk]:
        """Yield the chunks of one group as parts of windows."""
        passage = pieces[0][0]
        befores = [add_context(planned.before, "") for _, _, planned in pieces]
        spans = [span for _, span, _ in pieces]
        found = split_parts(passage.text, passage.paragraphs(), spans, befores, self._embedder)
        for (_, _, planned), part in zip(pieces, found, strict=True):
            yield replace(planned, within=part)

    def _split_pieces(self, passages: Sequence[SourceGroup], before: Before) -> Iterator[_Piece]:
        """Yield chunks that fit into the model."""
        spans = [
            (each, span)
            for each in passages
            for span in split_to_chunks(each.text, each.paragraphs(), self._chunking, self._sentence_vectors)
        ]
        contexts = before([(_find_first(*each), each[0].text[each[1].start : each[1].end]) for each in spans])
        for (passage, span), whole in zip(spans, contexts, strict=True):
            context = self._with_room(whole)
            parent = None if span.parent is None else _plan_chunk(passage, *span.parent)
            for piece in fit_chunks(passage.text, [span], self._embedder.spans, lambda _, own=context: own):
                yield passage, piece, _plan_chunk(passage, piece.start, piece.end, context, parent)

    def _with_room(self, context: str) -> str:
        """Truncate a context to a quarter of the model's limit, so that the text fits."""
        most = self._embedder.identity.max_tokens // 4
        while context and (tokens := self._embedder.count_tokens([context])) > most:
            context = context[: int(len(context) * min(0.9, most / tokens))].rstrip()
        return context


def _find_first(passage: SourceGroup, span: ChunkSpan) -> SourceText:
    return passage.sources[passage.find_covered(span.start, span.end)[0]]


def _plan_chunk(
    passage: SourceGroup, start: int, end: int, before: str = "", parent: PlannedChunk | None = None
) -> PlannedChunk:
    first, last = passage.find_covered(start, end)
    sources = passage.sources[first : last + 1]
    offset, end_offset = start - passage.starts[first], end - passage.starts[last]
    return PlannedChunk(sources, offset, end_offset, passage.text[start:end], before, parent)
