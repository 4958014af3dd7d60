"""Importing a bundle: documents with their vectors and concepts, named and hashed like ingested ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby

from kg_api.blobs.images import StoredFiles
from kg_api.blobs.store import compute_blob_key
from kg_api.errors import InvalidInput, KgError, TooBusy, Unavailable
from kg_api.graph.bundle import (
    StoredSource,
    find_pending_documents,
    hold_documents,
    keep_changes,
    read_stored_sources,
    require_own_chunks,
)
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_writes import write_extraction, write_extractions
from kg_api.graph.document_writes import (
    AskForExtraction,
    forget_evidence_of_gone,
    split_to_transactions,
    storing,
)
from kg_api.graph.fulltext import write_language, write_synonyms
from kg_api.graph.proposals import write_configuration
from kg_api.graph.spaces import Fingerprint, Space, read_spaces, read_text_spaces
from kg_api.graph.vectors import ChunkPlace, EmbeddedBatch, NewChunk, NewParent, SourceText, write_batch
from kg_api.schemas.base import content_hash, document_id, source_ids
from kg_api.schemas.bundles import (
    BundledChunk,
    BundledConcepts,
    BundledDocument,
    BundledLine,
    BundledOntology,
    BundledQuote,
    BundledSource,
    BundledVectors,
    ImportedLines,
    ImportOpened,
    KeptBlob,
    OntologyToImport,
)
from kg_api.schemas.concepts import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.schemas.documents import DocumentRecord, SourceBlock, SourceRecord
from kg_api.schemas.images import StoredImage
from kg_api.schemas.spaces import FIRST_SLUG
from kg_api.spaces.configuration import ConfigurationService, ExtractionService
from kg_api.spaces.plans import EmbeddingState, read_embedding_state, read_embedding_states
from kg_api.spaces.registry import SpaceRegistry, space_of_new
from kg_api.transfer.bundles import (
    LineOrder,
    check_concepts,
    check_sizes,
    check_vectors,
    require_format,
    unpack,
)
from kg_api.transfer.exporting import ExportService, schema_version

TRIES = 5


@dataclass(slots=True)
class GivenDocument:
    """A document with vectors and concepts. Without a record, it continues an earlier request."""

    document_id: str
    name: str
    record: DocumentRecord | None = None
    changes: str | None = None  # edits by users, as JSON
    vectors: list[BundledVectors] = field(default_factory=list[BundledVectors])
    concepts: list[BundledConcepts] = field(default_factory=list[BundledConcepts])


def sort_lines(ontology: str, lines: Iterable[BundledLine]) -> list[GivenDocument]:
    """Sort lines by document. Lines about documents of earlier requests come first."""
    given: dict[str, GivenDocument] = {}
    order = LineOrder(ontology)
    document: BundledDocument | None = None
    sources: dict[str, list[BundledSource]] = {}
    documents: dict[str, BundledDocument] = {}
    for line in lines:
        if document is None and isinstance(line, BundledVectors):
            check_sizes(line)
        elif isinstance(line, BundledDocument | BundledSource) or document is not None:
            order.add(line)
        if isinstance(line, BundledSource):
            if document is not None:
                sources[document.document].append(line)
            continue
        identity = document_id(ontology, line.document)
        known = given.setdefault(identity, GivenDocument(identity, line.document))
        if isinstance(line, BundledDocument):
            document, documents[identity] = line, line
            sources[line.document] = []
        elif isinstance(line, BundledVectors):
            known.vectors.append(line)
        else:
            known.concepts.append(line)
    order.end()
    for identity, each in documents.items():
        given[identity].record = _record(ontology, each, sources[each.document])
        if each.changes is not None:
            told = each.changes.model_dump(exclude_none=True, include={"title", "uri"})
            changes = {**told, "metadata": each.changes.metadata}
            given[identity].changes = json.dumps(changes, ensure_ascii=False, sort_keys=True)
    return [*given.values()]


def _record(ontology: str, line: BundledDocument, sources: Sequence[BundledSource]) -> DocumentRecord:
    identity = document_id(ontology, line.document)
    hashes = [content_hash(each.text) for each in sources]
    ids = source_ids(identity, hashes)
    return DocumentRecord(
        document_id=identity,
        ontology=ontology,
        document=line.document,
        title=line.title,
        uri=line.uri,
        format=line.format,
        content_hash=line.content_hash,
        characters=line.characters,
        preface=line.preface,
        metadata=json.dumps(line.metadata, ensure_ascii=False, sort_keys=True),
        sources=tuple(
            _source(source_id, paragraph, each, own)
            for paragraph, (source_id, each, own) in enumerate(zip(ids, sources, hashes, strict=True))
        ),
        original=line.original,
    )


def _source(identity: str, paragraph: int, line: BundledSource, own_hash: str) -> SourceRecord:
    return SourceRecord(
        identity,
        paragraph,
        tuple(line.heading),
        line.text,
        own_hash,
        line.start,
        line.end,
        tuple(SourceBlock(kind, start) for kind, start in line.blocks),
        page=line.page,
        last_page=line.last_page,
        ocr_confidence=line.ocr_confidence,
        word_boxes=None if line.word_boxes is None else base64.b64decode(line.word_boxes),
        image=None if line.image is None else StoredImage(**line.image.model_dump()),
    )


def get_source_range(lines: Iterable[BundledVectors | BundledConcepts]) -> range:
    """Return the range of sources that lines and their chunks cover."""
    places = set[int]()
    for line in lines:
        if isinstance(line, BundledConcepts):
            places.add(line.paragraph)
        else:
            places.update(line.paragraphs, *((each.first, each.last) for each in line.chunks))
    return range(min(places, default=0), max(places, default=-1) + 1)


def embedded_batch(ontology: str, line: BundledVectors, stored: Mapping[int, StoredSource]) -> EmbeddedBatch:
    """Return the vectors of sources that are not embedded, with all their chunks."""
    sources = {at: each.text for at, each in stored.items()}
    wanted = [at for at in line.paragraphs if not stored[at].is_embedded]
    chunks = [each for each in line.chunks if any(each.first <= at <= each.last for at in wanted)]
    covered = {*wanted, *(at for each in chunks for at in range(each.first, each.last + 1))}
    own = dict(zip(line.paragraphs, line.vectors, strict=True))
    return EmbeddedBatch(
        ontology=ontology,
        sources=[sources[at] for at in sorted(covered)],
        due=frozenset(sources[at].source_id for at in wanted),
        vectors={sources[at].source_id: unpack(vector) for at in wanted if (vector := own[at])},
        chunks=[NewChunk(_place(each, sources), unpack(each.vector)) for each in chunks if each.vector],
        parents=[NewParent(_place(each, sources), tuple(each.children)) for each in chunks if each.children],
        keep=frozenset(each.chunk_id for each in chunks),
    )


def _place(chunk: BundledChunk, sources: Mapping[int, SourceText]) -> ChunkPlace:
    covered = [sources[at] for at in range(chunk.first, chunk.last + 1)]
    ids = tuple(each.source_id for each in covered)
    return ChunkPlace(chunk.chunk_id, covered[0].document_id, ids, chunk.offset, chunk.end_offset)


def joined(lines: Iterable[BundledConcepts]) -> list[BundledConcepts]:
    """Merge the lines of one extractor or import into one line per source."""
    found: dict[tuple[str, int], BundledConcepts] = {}
    for line in lines:
        place = (line.document, line.paragraph)
        if (known := found.get(place)) is None:
            found[place] = line
            continue
        said = {
            "concepts": known.concepts + line.concepts,
            "relations": known.relations + line.relations,
            "unverified": max(known.unverified, line.unverified),
        }
        found[place] = known.model_copy(update=said)
    return [*found.values()]


def extraction(line: BundledConcepts, source: SourceText) -> Extraction:
    """Return the evidence of a source in the form of an extraction."""
    text = source.full_text
    return Extraction(
        source.source_id,
        source.content_hash,
        tuple(
            ExtractedConcept(
                each.label,
                tuple(_quote(quote, text) for quote in each.quotes),
                each.description,
                tuple(each.search_terms),
                each.confidence,
                tuple(each.unverified),
            )
            for each in line.concepts
        ),
        tuple(
            ExtractedRelation(
                each.subject, each.type, each.object, each.confidence, each.quote and _quote(each.quote, text)
            )
            for each in line.relations
        ),
        line.unverified,
    )


def _quote(quote: BundledQuote, text: str) -> Quote:
    return Quote(text[quote.start : quote.end], quote.start, quote.end, quote.score, quote.said)


class _ConcurrentDocument(Exception):
    """Another transaction has just stored a new document."""


class ImportService:
    """A service that stores the lines of bundles like ingested documents, vectors, and concepts."""

    def __init__(self, graph: Graph, files: StoredFiles, extract: AskForExtraction) -> None:
        self._graph = graph
        self._files = files
        self._extract = extract

    def keep(self, key: str, content: bytes) -> KeptBlob:
        """Store a file for an hour, or as long as a document uses it."""
        if compute_blob_key(content) != key:
            raise InvalidInput(f"the file does not match its name {key}: it was changed or cut off")
        self._files.keep([content])
        return KeptBlob(key=key)

    def take(self, ontology: str, lines: Iterable[BundledLine], *, replace: bool) -> ImportedLines:
        """Store new documents with their vectors and evidence."""
        # An existing document stays unless it has the same text or `replace` is set. Idempotent.
        state = read_embedding_state(self._graph, ontology)
        given = sort_lines(ontology, lines)
        by_id = {each.document_id: each for each in given}
        done = ImportedLines()
        for records in split_to_transactions([each.record for each in given if each.record]):
            done.add(self._store_or_name(state, [by_id[each.document_id] for each in records], replace))
        for each in given:
            if each.record is None:
                done.add(self._store_or_name(state, [each], replace))
        return done

    def _store_or_name(
        self, state: EmbeddingState, given: Sequence[GivenDocument], replace: bool
    ) -> ImportedLines:
        """Store documents together. If that fails, store each separately to isolate the error."""
        try:
            if replace:
                forget_evidence_of_gone(self._graph, [each.record for each in given if each.record])
            call = _Storing(state, given, self._extract, replace=replace)
            for _ in range(TRIES):
                with suppress(_ConcurrentDocument):
                    return self._graph.transaction(call.run)
            raise TooBusy("others store these documents at this moment: try again")
        except Unavailable:
            raise
        except KgError as error:
            if len(given) == 1:
                return ImportedLines(problems=[f"{given[0].name}: {error}"])
        done = ImportedLines()
        for each in given:
            done.add(self._store_or_name(state, [each], replace))
        return done


class _Storing:
    """One transaction, which may run twice and replaces documents only with `replace`."""

    def __init__(
        self,
        state: EmbeddingState,
        given: Sequence[GivenDocument],
        extract: AskForExtraction,
        *,
        replace: bool,
    ) -> None:
        self._state = state
        self._given = given
        self._replace = replace
        self._extract = extract
        self._chosen: list[DocumentRecord] = []
        self._store = storing([], extract)

    def run(self, tx: Transaction) -> ImportedLines:
        done = ImportedLines()
        self._store_documents(tx, done)
        hashes = hold_documents(tx, [each.document_id for each in self._given])
        vectors = [
            line
            for each in self._given
            for line in each.vectors
            if self._belongs_to_stored_text(line, hashes)
        ]
        concepts = [
            line
            for each in self._given
            for line in each.concepts
            if self._belongs_to_stored_text(line, hashes)
        ]
        self._write_vectors(tx, vectors, done)
        self._write_concepts(tx, concepts, done)
        return done

    def _store_documents(self, tx: Transaction, done: ImportedLines) -> None:
        ids = [each.document_id for each in self._given if each.record]
        known, waiting = hold_documents(tx, ids), find_pending_documents(tx, ids)
        chosen: list[DocumentRecord] = []
        for each in self._given:
            if each.record is None:
                continue
            stored = known.get(each.document_id)
            if stored == each.record.content_hash and each.record not in self._chosen:
                done.unchanged += 1
            elif not self._replace and (
                each.document_id in waiting or stored not in (None, each.record.content_hash)
            ):
                done.kept = sorted([*done.kept, each.name])
            else:
                chosen.append(each.record)
        if not chosen:
            return
        if chosen != self._chosen:  # otherwise a second run finds the work of the first
            self._chosen, self._store = chosen, storing(chosen, self._extract)
        results = [result.change.change for result in self._store(tx)]
        if "updated" in results and not self._replace:
            raise _ConcurrentDocument
        new = {
            each.document_id for each, result in zip(chosen, results, strict=True) if result != "unchanged"
        }
        changed = [each for each in self._given if each.changes and each.document_id in new]
        keep_changes(tx, {each.document_id: each.changes or "" for each in changed})
        done.stored, done.replaced = results.count("created"), results.count("updated")
        done.unchanged += results.count("unchanged")

    def _write_vectors(self, tx: Transaction, lines: list[BundledVectors], done: ImportedLines) -> None:
        plans = {plan.mark.value: plan for plan in self._state.texts}
        for mark, group in groupby(sorted(lines, key=lambda line: line.mark), key=lambda line: line.mark):
            same = [*group]
            if (plan := plans.get(mark)) is None:
                done.anew += sum(len(line.paragraphs) for line in same)
                continue
            stored = self._read_sources(tx, same, plan.mark)
            for line in same:
                sources = stored[self._id(line)]
                check_vectors(line, _lengths(sources))
                batch = embedded_batch(self._state.ontology, line, sources)
                if batch.due:
                    require_own_chunks(tx, batch, plan.space)
                    done.vectors += write_batch(tx, batch, plan.space, plan.mark)

    def _write_concepts(self, tx: Transaction, lines: list[BundledConcepts], done: ImportedLines) -> None:
        stored = self._read_sources(tx, lines, self._state.target.mark)
        by_origin: dict[tuple[str, bool], list[BundledConcepts]] = {}
        for line in lines:
            check_concepts(line, _lengths(stored[self._id(line)]))
            by_origin.setdefault((line.extracted_with, line.imported), []).append(line)
        for (mark, imported), group in sorted(by_origin.items()):
            found = list[Extraction]()
            for line in joined(group):
                source = stored[self._id(line)][line.paragraph]
                # Evidence by an extractor or import of this database stays
                if not (source.is_brought if imported else source.extracted_with):
                    found.append(extraction(line, source.text))
            if found:
                written = write_extractions(tx, self._state.ontology, found, mark, imported=imported)
                done.concepts += written.done

    def _read_sources(
        self, tx: Transaction, lines: Sequence[BundledVectors | BundledConcepts], mark: Fingerprint
    ) -> dict[str, dict[int, StoredSource]]:
        return read_stored_sources(tx, {self._id(line) for line in lines}, mark, get_source_range(lines))

    def _id(self, line: BundledVectors | BundledConcepts) -> str:
        return document_id(self._state.ontology, line.document)

    def _belongs_to_stored_text(
        self, line: BundledVectors | BundledConcepts, hashes: Mapping[str, str | None]
    ) -> bool:
        """Return whether a line belongs to the stored text."""
        return hashes.get(self._id(line)) == line.content_hash


def _lengths(sources: Mapping[int, StoredSource]) -> dict[int, int]:
    return {at: len(each.text.full_text) for at, each in sources.items()}


class MovingService:
    def __init__(
        self,
        graph: Graph,
        files: StoredFiles,
        configure: ConfigurationService,
        extraction: ExtractionService,
        extract: AskForExtraction,
        *,
        spaces: SpaceRegistry,
    ) -> None:
        self._graph = graph
        self._spaces = spaces
        self._configure = configure
        self._extraction = extraction
        self.exports = ExportService(graph, files)
        self.imports = ImportService(graph, files, extract)

    def open_import(self, given: OntologyToImport) -> ImportOpened:
        """Create an ontology with a bundle's configuration and space. An existing one keeps its own."""
        require_format(given.format)
        if given.schema_version > schema_version():
            raise InvalidInput(
                f"the bundle is of a later kg: its database has the schema {given.schema_version}, "
                f"this one {schema_version()}. Upgrade this kg first. Nothing was changed."
            )
        wanted = given.configuration
        created = wanted.ontology not in read_embedding_states(self._graph, wanted.ontology)
        notes = self._create(wanted) if created else []
        state = read_embedding_state(self._graph, wanted.ontology)
        takes = wanted.mark in {plan.mark.value for plan in state.texts}
        if not takes:
            notes.append(_describe_other_vectors(wanted, created=created))
        return ImportOpened(ontology=wanted.ontology, created=created, takes_vectors=takes, notes=notes)

    def _create(self, wanted: BundledOntology) -> list[str]:
        name = wanted.ontology
        notes = list[str]()
        space = self._find_space(wanted, notes)
        config = wanted.embedding.model_copy(update={"space": space.slug})
        takes_extraction = True
        try:
            self._extraction.require_usable(name, wanted.extraction)
        except InvalidInput as error:
            takes_extraction = False
            notes.append(f"how concepts are extracted from {name!r} was not taken over: {error}")

        def write_all(tx: Transaction) -> None:
            write_language(tx, name, wanted.language)
            write_synonyms(tx, name, wanted.synonyms)
            write_configuration(tx, name, wanted.proposals)
            if takes_extraction:
                write_extraction(tx, name, wanted.extraction)

        self._configure.set(name, config, dry_run=False, along=write_all)
        return notes

    def _find_space(self, wanted: BundledOntology, notes: list[str]) -> Space:
        """Return or create the space of the bundle's model, or fall back to the space of new ontologies."""
        spaces = read_text_spaces(self._graph)
        same = [each for each in spaces.values() if each.fingerprint == wanted.space_fingerprint]
        if found := next((each for each in same if not each.dropping), None):
            return found
        if wanted.space:
            slug = wanted.space.slug
            if slug == FIRST_SLUG or slug in read_spaces(self._graph):
                slug = f"imported_{wanted.space_fingerprint[:8]}"
            try:
                new = wanted.space.model_copy(update={"slug": slug})
                space = self._spaces.add(new, wanted.space_fingerprint).space
            except KgError as error:
                notes.append(f"the embedding space of {wanted.model} could not be created: {error}")
            else:
                notes.append(f"created the embedding space {slug!r} for {wanted.model}")
                return space
        return space_of_new(spaces)


def _describe_other_vectors(wanted: BundledOntology, *, created: bool) -> str:
    reason = (
        f"the vectors of the bundle are of {wanted.model}, and this kg embeds {wanted.ontology!r} otherwise"
    )
    if not created or not wanted.space:
        return f"{reason}: kg re-embeds its sources"
    new = wanted.space
    return (
        f"{reason}: kg re-embeds its sources. To import the vectors instead, configure the model, run "
        f"`kg delete ontology {wanted.ontology}` and `kg admin spaces create {new.slug} --provider "
        f"{new.provider} --model {new.model} --dimensions {new.dimensions}`, and import again"
    )
