"""Giving out what is stored, page by page, each of whole documents as they were at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from kg_api import __version__
from kg_api.errors import Conflict, Unavailable
from kg_api.graph.bundle.reads import (
    StoredPart,
    by_document,
    count_documents,
    documents_behind,
    have_changed,
    read_part,
    read_texts,
)
from kg_api.graph.concepts.extraction_config import read_extraction
from kg_api.graph.database import Graph, Row
from kg_api.graph.fulltext.language import read_language
from kg_api.graph.fulltext.synonyms import read_synonyms
from kg_api.graph.migrations import list_known
from kg_api.graph.proposals.configuration import read_proposals
from kg_api.graph.review.waiting import count_waiting
from kg_api.graph.spaces.registry import Space, display_name
from kg_api.images.files import StoredFiles
from kg_api.models.base import Body
from kg_api.models.bundle.lines import SOURCES_A_PART
from kg_api.models.bundle.manifest import FORMAT, LEFT_OUT, BundledOntology, BundleOffer
from kg_api.models.embedding.spaces import NewSpace
from kg_api.models.vocabulary import Provider
from kg_api.moving.writing import concept_lines, document_line, packed, source_line, vector_lines
from kg_api.spaces.plans import EmbeddingState, Plan, read_embedding_state, select_embedding_states

DOCUMENTS_A_PAGE = 100
LOOKS = 5
"""So often a page is read again when a document of it, or how it is embedded, was changed meanwhile."""

Read = Callable[[Plan], tuple[Sequence[Row], Iterator[Body]]]
"""Reads documents, and the lines of them, by how they are embedded."""


def schema_version() -> int:
    """The number of the last change of the schema that this version knows."""
    return int(list_known()[-1][:3])


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

        Of a document that has more sources than a part nothing but its own lines: the rest is in `part`.

        Raises:
            NotFound: there is no such ontology.
            Unavailable: its documents change faster than they can be read.
        """

        def read(plan: Plan) -> tuple[Sequence[Row], Iterator[Body]]:
            documents = _a_page(documents_behind(self._graph, ontology, after, DOCUMENTS_A_PAGE))
            part = self._of_page(documents, plan)
            return documents, _lines(documents, part, plan.mark.value)

        return self._unchanged(ontology, read)

    def part(self, ontology: str, after: str, content_hash: str, first: int) -> bytes:
        """The lines of what is made of the sources of a document, from one on, as many as a part has.

        Args:
            ontology: whose.
            after: name of the document before it.
            content_hash: of the document, as its line tells.
            first: number of the first source.

        Raises:
            NotFound: there is no such ontology.
            Conflict: another document or another text is there now.
            Unavailable: its documents change faster than they can be read.
        """

        def read(plan: Plan) -> tuple[Sequence[Row], Iterator[Body]]:
            documents = documents_behind(self._graph, ontology, after, 1)
            if [row["content_hash"] for row in documents] != [content_hash]:
                raise Conflict(f"the document behind {after!r} was changed meanwhile: ask for it again")
            until = first + SOURCES_A_PART
            part = read_part(self._graph, documents, (plan.space, plan.mark), first=first, until=until)
            return documents, (line for _, line in _made_lines(documents, part, plan.mark.value))

        return self._unchanged(ontology, read)

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
            space=_describe_space(plan.space),
            mark=plan.mark.value,
            language=read_language(self._graph, name).language,
            synonyms=[list(group) for group in read_synonyms(self._graph, name)],
            extraction=read_extraction(self._graph, name).config,
            proposals=read_proposals(self._graph, name).config,
        )

    def _of_page(self, documents: Sequence[Row], plan: Plan) -> StoredPart:
        if not documents or sum(row["sources"] for row in documents) > SOURCES_A_PART:
            return read_texts(self._graph, documents)
        return read_part(self._graph, documents, (plan.space, plan.mark))

    def _unchanged(self, ontology: str, read: Read) -> bytes:
        """Lines of documents, and of a way to embed them, that were the same when all was read."""
        for _ in range(LOOKS):
            plan = read_embedding_state(self._graph, ontology).answering
            documents, lines = read(plan)
            now = read_embedding_state(self._graph, ontology).answering
            if now.mark == plan.mark and not have_changed(self._graph, documents):
                return packed(lines)
        raise Unavailable(f"documents of {ontology!r} change faster than they can be read: try again")


def _lines(documents: Sequence[Row], part: StoredPart, mark: str) -> Iterator[Body]:
    sources = by_document(part.sources)
    made: dict[str, list[Body]] = {row["document_id"]: [] for row in documents}
    for identity, line in _made_lines(documents, part, mark):
        made[identity].append(line)
    for row in documents:
        own = sources.get(row["document_id"], [])
        yield document_line({**row, "sources": len(own)})
        yield from map(source_line, own)
        yield from made[row["document_id"]]


def _made_lines(documents: Sequence[Row], part: StoredPart, mark: str) -> Iterator[tuple[str, Body]]:
    """What is made of sources; by document."""
    yield from vector_lines(documents, part, mark)
    yield from concept_lines(documents, part)


def _describe_space(space: Space) -> NewSpace:
    identity = space.identity
    return NewSpace(
        slug=space.slug,
        provider=cast("Provider", identity.provider),
        model=identity.model,
        dimensions=identity.dimensions,
    )


def _a_page(documents: Sequence[Row]) -> list[Row]:
    """The first ones that together have no more sources than a part; at least one."""
    page, sources = list[Row](), 0
    for row in documents:
        sources += row["sources"]
        if page and sources > SOURCES_A_PART:
            break
        page.append(row)
    return page
