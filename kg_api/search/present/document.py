"""Reading a document from a place on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.database import Graph
from kg_api.graph.documents.library import find_source, find_summary, paragraphs
from kg_api.models.library.documents import DocumentSummary
from kg_api.models.queries.places import Place
from kg_api.models.queries.reading import DocumentReading
from kg_api.models.queries.search import Degradation
from kg_api.spaces.counting import ModelTokenCounter, token_counter
from kg_api.spaces.plans import PlanWatch
from kg_api.spaces.registry import SpaceRegistry

AT_ONCE = 200
"""Paragraphs that are read for one answer, at most."""


class ParagraphReader:
    """Gives a document's paragraphs in order, as many as a budget of tokens allows."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry, plans: PlanWatch) -> None:
        self._graph = graph
        self._spaces = spaces
        self._plans = plans

    def read(
        self, called: str, ontology: str | None, start: int | None, token_budget: int
    ) -> DocumentReading:
        """Read a document from a paragraph on.

        Args:
            called: what the document is called by; a source is read from in its document.
            ontology: which it is in; None: any.
            start: the paragraph to begin with, from 0; None: the source that is called, or the beginning.
            token_budget: how many tokens the paragraphs may have; the first one is given whatever it has.

        Raises:
            NotFound: there is no such document; the message names the nearest.
            Conflict: several are called so.
            InvalidInput: the document has no such paragraph.
        """
        document, place = self._find(called, ontology)
        first = place if start is None else start
        if first and first >= document.sources:
            raise InvalidInput(f"start: {document.document!r} has {document.sources} paragraphs, from 0 on")
        known = self._plans.known([document.ontology])
        counter = token_counter(self._spaces.of(known.space_of(document.ontology)))
        found = paragraphs(self._graph, document.document_id, first, first + AT_ONCE - 1)
        kept, tokens = _within(found, counter, token_budget)
        end = first + len(kept)
        left = max(document.sources - end, 0)
        return DocumentReading(
            document=document,
            start=first,
            sources=kept,
            tokens=tokens,
            next=end if left and kept else None,
            left=left,
            degraded=[Degradation(part="windows", effect=counter.problem)] if counter.problem else [],
        )

    def _find(self, called: str, ontology: str | None) -> tuple[DocumentSummary, int]:
        """The document, and the paragraph of it that is called, which is the first where none is."""
        try:
            return find_summary(self._graph, called, ontology), 0
        except NotFound as unknown:
            try:
                source = find_source(self._graph, called if ontology is None else f"{ontology}/{called}")
            except NotFound as error:
                raise error if "#" in called else unknown from None
            return find_summary(self._graph, source.document_id), source.paragraph


def _within(found: Sequence[Place], counter: ModelTokenCounter, budget: int) -> tuple[list[Place], int]:
    """The first paragraphs that have room, and their tokens."""
    kept: list[Place] = []
    spent = 0
    for place, tokens in _counted(found, counter):
        if kept and spent + tokens > budget:
            break
        kept.append(place)
        spent += tokens
    return kept, spent


def _counted(found: Sequence[Place], counter: ModelTokenCounter) -> Iterator[tuple[Place, int]]:
    for place in found:
        yield place, counter([place.full_text])[0]
