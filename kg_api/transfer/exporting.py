"""From what is stored of documents to the lines of a bundle. Pure."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeVar, cast

from kg_api import __version__
from kg_api.blobs.images import StoredFiles
from kg_api.errors import Conflict, Unavailable
from kg_api.graph.bundle import (
    StoredPart,
    by_document,
    count_documents,
    documents_behind,
    have_changed,
    read_part,
    read_texts,
)
from kg_api.graph.client import Graph, Row, portions
from kg_api.graph.concept_writes import read_extraction
from kg_api.graph.concepts import IMPORTED, AppearanceRow, EvidenceRows, QuoteRow
from kg_api.graph.fulltext import read_language, read_synonyms
from kg_api.graph.proposals import read_proposals
from kg_api.graph.relations import RelationRow
from kg_api.graph.review import count_waiting
from kg_api.graph.schema import list_known
from kg_api.graph.spaces import Space, display_name
from kg_api.schemas.base import Body
from kg_api.schemas.bundles import (
    FORMAT,
    LEFT_OUT,
    SOURCES_A_PART,
    BundledChanges,
    BundledChunk,
    BundledConcept,
    BundledConcepts,
    BundledDocument,
    BundledImage,
    BundledOntology,
    BundledQuote,
    BundledRelation,
    BundledSource,
    BundledVectors,
    BundleOffer,
)
from kg_api.schemas.spaces import NewSpace
from kg_api.schemas.vocabulary import Provider
from kg_api.spaces.plans import EmbeddingState, Plan, read_embedding_state, select_embedding_states
from kg_api.transfer.bundles import pack

T = TypeVar("T")
R = TypeVar("R", AppearanceRow, QuoteRow, RelationRow)
VECTORS_A_LINE = 1000
VALUES_A_LINE = 20_000
"""Of concepts, about: a service takes no line of many more."""
RELATIONS_A_LINE = 1000
Origin = tuple[str, bool]
"""A source, and whether somebody brought what is said of it; else an extractor has found it."""
Grouped = dict[Origin, list[R]]


def document_line(row: Row) -> BundledDocument:
    changes = None if row["changes"] is None else BundledChanges.model_validate_json(row["changes"])
    known: dict[str, Any] = {name: row[name] for name in BundledDocument.model_fields if name in row}
    known |= {"kind": "document", "metadata": json.loads(row["metadata"] or "{}"), "changes": changes}
    return BundledDocument(**known)


def source_line(row: Row) -> BundledSource:
    boxes = row["word_boxes"]
    return BundledSource(
        kind="source",
        text=row["full_text"],
        heading=row["heading"],
        start=row["start"],
        end=row["end"],
        blocks=list(zip(row["block_kinds"] or (), row["block_starts"] or (), strict=True)),
        page=row["page"],
        last_page=row["last_page"],
        ocr_confidence=row["ocr_confidence"],
        word_boxes=None if boxes is None else base64.b64encode(bytes(boxes)).decode(),
        image=None if row["image"] is None else BundledImage(**row["image"]),
    )


def vector_lines(
    documents: Sequence[Row], part: StoredPart, mark: str
) -> Iterator[tuple[str, BundledVectors]]:
    """How sources are embedded that are so as they shall be; by document."""
    chunks = by_document(part.chunks)
    sources = by_document([row for row in part.sources if row["embedded"]])
    for document in documents:
        identity = document["document_id"]
        own = _by_paragraph(chunks.get(identity, ()))
        rows = sources.get(identity, [])
        for some in _heaps(rows, lambda row, own=own: 1 + len(own[row["paragraph"]]), VECTORS_A_LINE):
            yield identity, _vector_line(document, some, own, mark)


def _vector_line(
    document: Row, sources: Sequence[Row], chunks: Mapping[int, Sequence[Row]], mark: str
) -> BundledVectors:
    own = {chunk["chunk_id"]: chunk for row in sources for chunk in chunks[row["paragraph"]]}
    return BundledVectors(
        kind="vectors",
        document=document["document"],
        content_hash=document["content_hash"],
        mark=mark,
        paragraphs=[row["paragraph"] for row in sources],
        vectors=[None if row["vector"] is None else pack(row["vector"]) for row in sources],
        chunks=[_chunk(own[each]) for each in sorted(own)],
    )


def _by_paragraph(chunks: Sequence[Row]) -> Mapping[int, Sequence[Row]]:
    found = defaultdict[int, list[Row]](list)
    for row in chunks:
        for paragraph in row["paragraphs"]:
            found[paragraph].append(row)
    return found


def _heaps(items: Iterable[T], weigh: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Items in parts that weigh no more than that, unless one alone does."""
    heap, weight = list[T](), 0
    for each in items:
        own = weigh(each)
        if heap and weight + own > most:
            yield heap
            heap, weight = [], 0
        heap.append(each)
        weight += own
    if heap:
        yield heap


def _chunk(row: Row) -> BundledChunk:
    return BundledChunk(
        chunk_id=row["chunk_id"],
        first=row["paragraphs"][0],
        last=row["paragraphs"][-1],
        offset=row["offset"],
        end_offset=row["end_offset"],
        vector=None if row["vector"] is None else pack(row["vector"]),
        children=sorted(row["children"]),
    )


def concept_lines(documents: Sequence[Row], part: StoredPart) -> Iterator[tuple[str, BundledConcepts]]:
    """What was found in sources, lines for each extractor or import of each; by document."""
    known = {row["document_id"]: row for row in documents}
    of_source = _Evidence(part.evidence)
    for row in part.sources:
        for imported, mark in of_source.origins(row):
            found = _found_by(of_source, (row["source_id"], imported), part.labels)
            for concepts, relations in found:
                line = BundledConcepts(
                    kind="concepts",
                    document=known[row["document_id"]]["document"],
                    content_hash=known[row["document_id"]]["content_hash"],
                    paragraph=row["paragraph"],
                    extracted_with=mark.removeprefix(IMPORTED),
                    imported=imported,
                    unverified=0 if imported else row["unverified"] or 0,
                    concepts=list(concepts),
                    relations=list(relations),
                )
                yield row["document_id"], line


def _found_by(
    of_source: _Evidence, key: Origin, labels: dict[str, str]
) -> Iterator[tuple[Sequence[BundledConcept], Sequence[BundledRelation]]]:
    """What was found in a source, in parts that a line holds; one part where nothing was."""
    concepts = [*_heaps(of_source.concepts(key, labels), _values, VALUES_A_LINE)] or [[]]
    relations = portions([*of_source.relations(key, labels)], RELATIONS_A_LINE)
    yield from zip_longest(concepts, relations, fillvalue=())


def _values(concept: BundledConcept) -> int:
    """About how many values it has in a line; at least so many that no line has more than 1,000."""
    return 20 + 4 * len(concept.quotes) + len(concept.search_terms) + len(concept.unverified)


class _Evidence:
    """What is stored of sources, by origin."""

    def __init__(self, evidence: EvidenceRows) -> None:
        self._appearances: Grouped[AppearanceRow] = _grouped(evidence.appearances)
        self._quotes: Grouped[QuoteRow] = _grouped(evidence.quotes)
        self._relations: Grouped[RelationRow] = _grouped(evidence.relations)
        self._marks: dict[tuple[str, bool], str] = {}
        for row in (*evidence.appearances, *evidence.quotes, *evidence.relations):
            self._marks.setdefault(_origin(row), row.extracted_with)

    def origins(self, source: Row) -> Iterator[tuple[bool, str]]:
        """Whether it was imported, and by what mark; also that of an extractor which found nothing."""
        own = None if source["refused"] else source["extracted_with"]
        if mark := own or self._marks.get((source["source_id"], False)):
            yield False, mark
        if mark := self._marks.get((source["source_id"], True)):
            yield True, mark

    def concepts(self, key: Origin, labels: dict[str, str]) -> Iterator[BundledConcept]:
        quotes: dict[str, list[QuoteRow]] = {}
        for quote in self._quotes.get(key, ()):
            quotes.setdefault(quote.concept_id, []).append(quote)
        for row in self._appearances.get(key, ()):
            yield BundledConcept(
                label=labels[row.concept_id],
                description=row.description,
                search_terms=list(row.terms),
                confidence=row.confidence,
                quotes=[
                    BundledQuote(start=each.start, end=each.end, score=each.score, said=each.said)
                    for each in quotes.get(row.concept_id, ())
                ],
                unverified=list(row.unverified),
            )

    def relations(self, key: Origin, labels: dict[str, str]) -> Iterator[BundledRelation]:
        """What is stated by one origin."""
        for row in self._relations.get(key, ()):
            quoted = row.start is not None and row.end is not None
            yield BundledRelation(
                subject=labels[row.subject],
                type=row.type,
                object=labels[row.object],
                confidence=row.confidence,
                quote=BundledQuote(start=row.start or 0, end=row.end or 0) if quoted else None,
            )


def _grouped(rows: Sequence[R]) -> Grouped[R]:
    found: Grouped[R] = {}
    for row in rows:
        found.setdefault(_origin(row), []).append(row)
    return found


def _origin(row: AppearanceRow | QuoteRow | RelationRow) -> Origin:
    return row.source_id, row.extracted_with.startswith(IMPORTED)


def packed(lines: Iterable[Body]) -> bytes:
    """Lines as they stand in a file."""
    return b"".join(each.model_dump_json(exclude_defaults=True).encode() + b"\n" for each in lines)


# Giving out what is stored, page by page, each of whole documents as they were at one moment.

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
