"""Reading of sources with their neighbours, and of documents from a paragraph on."""

from __future__ import annotations

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.library import find_source, find_summary, read_neighbours, read_paragraphs
from kg_api.graph.names import find_first_source, is_source_position, is_whole_id
from kg_api.schemas.search import Degradation, DocumentReading, Place, SourceWindow
from kg_api.schemas.vocabulary import USUAL_READ
from kg_api.search.present import fit_to_budget
from kg_api.spaces.registry import ModelTokenCounter, SpaceRegistry, build_space_token_counter
from kg_api.spaces.snapshot import get_snapshots
from kg_api.wording import describe_missing_paragraph

AT_ONCE = 200  # maximum paragraphs per response


class ReadingService:
    """Reads text in document order, up to a token budget. Thread-safe."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces
        self._snapshots = get_snapshots(graph)

    def read_context(self, called: str, window: int, token_budget: int | None = None) -> SourceWindow:
        """Read a source with neighbours. If this is a document, use the first source.

        Raises:
            NotFound: The source or document does not exist.
            Conflict: The name is ambiguous.
        """
        try:
            source = find_source(self._graph, called)
        except NotFound as unknown:
            try:
                source = find_source(self._graph, find_first_source(self._graph, called))
            except NotFound as error:
                raise unknown if is_whole_id(called) or is_source_position(called) else error from None
        around = read_neighbours(self._graph, [source], window)[source.source_id]
        whole = SourceWindow(source_id=source.source_id, window_size=window, sources=around)
        if token_budget is None:
            return whole
        counter = self._get_counter(source.ontology)
        kept = fit_to_budget(whole, counter, token_budget)
        if counter.problem is not None:
            kept.degraded.append(Degradation(part="windows", effect=counter.problem))
        return kept

    def read(
        self,
        called: str,
        ontology: str | None = None,
        start: int | None = None,
        token_budget: int = USUAL_READ,
    ) -> DocumentReading:
        """Read a document from a paragraph on.

        Args:
            called: Name or id of a document, or id of a source in it.
            ontology: Ontology of the document. None: any.
            start: First paragraph, from 0. None: the named source, or the start of the document.
            token_budget: Maximum tokens. The first paragraph is always returned.

        Raises:
            NotFound: The document does not exist. The message suggests the closest name.
            Conflict: The name is ambiguous.
            InvalidInput: The document has no such paragraph.
        """
        try:
            document, first = find_summary(self._graph, called, ontology), 0
        except NotFound as unknown:
            try:
                source = find_source(self._graph, called if ontology is None else f"{ontology}/{called}")
            except NotFound as error:
                raise error if "#" in called else unknown from None
            document, first = find_summary(self._graph, source.document_id), source.paragraph
        first = first if start is None else start
        if first and first >= document.sources:
            raise InvalidInput(describe_missing_paragraph(document.document, first, document.sources))
        counter = self._get_counter(document.ontology)
        kept, spent = list[Place](), 0
        for place in read_paragraphs(self._graph, document.document_id, first, first + AT_ONCE - 1):
            tokens = counter([place.full_text])[0]
            if kept and spent + tokens > token_budget:
                break
            kept.append(place)
            spent += tokens
        end = first + len(kept)
        left = max(document.sources - end, 0)
        return DocumentReading(
            document=document,
            start=first,
            sources=kept,
            tokens=spent,
            next=end if left and kept else None,
            left=left,
            degraded=[Degradation(part="windows", effect=counter.problem)] if counter.problem else [],
        )

    def _get_counter(self, ontology: str) -> ModelTokenCounter:
        return build_space_token_counter(
            self._spaces.get_open(self._snapshots.get([ontology]).get_space(ontology))
        )
