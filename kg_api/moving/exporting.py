"""Giving out what is stored, page by page, each of whole documents as they were at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api import __version__
from kg_api.errors import Unavailable
from kg_api.graph.bundle.reads import (
    StoredPart,
    by_document,
    count_documents,
    documents_behind,
    have_changed,
    read_part,
)
from kg_api.graph.concepts.extraction_config import read_extraction
from kg_api.graph.database import Graph, Row
from kg_api.graph.fulltext.language import read_language
from kg_api.graph.fulltext.synonyms import read_synonyms
from kg_api.graph.migrations import list_known
from kg_api.graph.proposals.configuration import read_proposals
from kg_api.graph.review.waiting import count_waiting
from kg_api.graph.spaces.registry import display_name
from kg_api.images.files import StoredFiles
from kg_api.models.base import Body
from kg_api.models.bundle.manifest import FORMAT, LEFT_OUT, BundledOntology, BundleOffer
from kg_api.moving.writing import concept_lines, document_line, packed, source_line, vector_lines
from kg_api.spaces.plans import EmbeddingState, Plan, read_embedding_state, select_embedding_states

DOCUMENTS_A_PAGE = 100
SOURCES_A_PAGE = 500
"""Unless a single document has more."""
LOOKS = 5
"""So often a page is read again when a document of it was changed meanwhile."""


def schema_version() -> int:
    """The number of the last change of the schema that this version knows."""
    return max(int(name.rpartition("/")[2][:3]) for name in list_known())


class ExportService:
    """Reads what goes into bundles; nothing is changed by it."""

    def __init__(self, graph: Graph, files: StoredFiles) -> None:
        self._graph = graph
        self._files = files

    def offer(self, ontologies: Sequence[str] | None) -> BundleOffer:
        """What there is to export of some ontologies, or of all.

        Raises:
            NotFound: one is not there.
        """
        states = select_embedding_states(self._graph, ontologies)
        counts, waiting = count_documents(self._graph), count_waiting(self._graph)
        names = [each.ontology for each in states]
        return BundleOffer(
            format=FORMAT,
            kg_version=__version__,
            schema_version=schema_version(),
            ontologies=[self._configuration(each) for each in states],
            documents={name: counts.get(name, 0) for name in names},
            waiting={
                name: count for name, count in waiting.items() if ontologies is None or name in ontologies
            },
            left_out=list(LEFT_OUT),
        )

    def page(self, ontology: str, after: str) -> bytes:
        """The lines of the next documents behind a name; none when there is no further one.

        Raises:
            NotFound: there is no such ontology.
            Unavailable: its documents change faster than they can be read.
        """
        plan = read_embedding_state(self._graph, ontology).answering
        for _ in range(LOOKS):
            documents = _a_page(documents_behind(self._graph, ontology, after, DOCUMENTS_A_PAGE))
            parts = [*self._parts(documents, plan)]
            if not have_changed(self._graph, documents):
                return packed(_lines(documents, parts, plan.mark.value))
        raise Unavailable(f"documents of {ontology!r} change faster than they can be read: try again")

    def blob(self, key: str) -> bytes:
        """The file of a key.

        Raises:
            FileLost: there is none, or it is damaged.
        """
        return self._files.read(key)

    def _configuration(self, state: EmbeddingState) -> BundledOntology:
        name, plan = state.ontology, state.answering
        return BundledOntology(
            ontology=name,
            embedding=plan.config,
            space_fingerprint=plan.space.fingerprint,
            model=display_name(plan.space.identity),
            mark=plan.mark.value,
            language=read_language(self._graph, name).language,
            synonyms=[list(group) for group in read_synonyms(self._graph, name)],
            extraction=read_extraction(self._graph, name).config,
            proposals=read_proposals(self._graph, name).config,
        )

    def _parts(self, documents: Sequence[Row], plan: Plan) -> Iterator[StoredPart]:
        """In one read, or for a large document in several."""
        total = sum(row["sources"] for row in documents)
        if not documents:
            return
        if total <= SOURCES_A_PAGE:
            yield read_part(self._graph, documents, (plan.space, plan.mark))
            return
        for first in range(0, total, SOURCES_A_PAGE):
            until = first + SOURCES_A_PAGE
            yield read_part(self._graph, documents, (plan.space, plan.mark), first=first, until=until)


def _lines(documents: Sequence[Row], parts: Sequence[StoredPart], mark: str) -> Iterator[Body]:
    sources = by_document([row for part in parts for row in part.sources])
    made: dict[str, list[Body]] = {row["document_id"]: [] for row in documents}
    for part in parts:
        for identity, line in vector_lines(documents, part, mark):
            made[identity].append(line)
    for part in parts:
        for identity, line in concept_lines(documents, part):
            made[identity].append(line)
    for row in documents:
        own = sources.get(row["document_id"], [])
        yield document_line({**row, "sources": len(own)})
        yield from map(source_line, own)
        yield from made[row["document_id"]]


def _a_page(documents: Sequence[Row]) -> list[Row]:
    """The first ones that together have no more sources than a page; at least one."""
    page, sources = list[Row](), 0
    for row in documents:
        sources += row["sources"]
        if page and sources > SOURCES_A_PAGE:
            break
        page.append(row)
    return page
