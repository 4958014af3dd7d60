"""Importing a bundle: documents with their vectors and concepts, named and hashed like ingested ones."""

from __future__ import annotations

import base64
import json
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from kg_api.blobs.images import StoredFiles
from kg_api.blobs.store import compute_blob_key
from kg_api.errors import Conflict, InvalidInput, KgError, Unavailable
from kg_api.graph.bundle import (
    StoredSource,
    hold_documents,
    keep_changes,
    read_stored_sources,
    require_own_chunks,
)
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_writes import write_extraction, write_extractions
from kg_api.graph.document_writes import AskForExtraction, build_storing, forget_evidence_of_gone
from kg_api.graph.fulltext import write_language, write_synonyms
from kg_api.graph.spaces import Space, read_spaces, read_text_spaces
from kg_api.graph.vectors import ChunkPlace, EmbeddedBatch, NewChunk, NewParent, write_batch
from kg_api.schemas.base import build_document_id, build_source_ids, hash_content
from kg_api.schemas.bundles import (
    BundledChunk,
    BundledDocument,
    BundledEvidence,
    BundledLine,
    BundledOntology,
    BundledPassages,
    BundledQuote,
    ImportedLines,
    ImportOpened,
    KeptBlob,
    OntologyToImport,
)
from kg_api.schemas.concepts import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.schemas.documents import DocumentRecord, SourceBlock, SourceRecord
from kg_api.schemas.embedding import EmbeddingConfigChange
from kg_api.schemas.images import StoredImage
from kg_api.schemas.spaces import FIRST_SLUG
from kg_api.spaces.configuration import ConfigurationService, ExtractionService
from kg_api.spaces.plans import EmbeddingState, read_embedding_state, read_embedding_states
from kg_api.spaces.registry import SpaceRegistry, get_default_space
from kg_api.transfer.bundles import require_format, unpack
from kg_api.transfer.exporting import ExportService, get_schema_version


@dataclass(slots=True)
class GivenDocument:
    """A document with vectors and concepts. Without a line, it continues an earlier request."""

    name: str
    line: BundledDocument | None = None
    passages: list[BundledPassages] = field(default_factory=list[BundledPassages])


def build_record(ontology: str, line: BundledDocument) -> DocumentRecord:
    identity = build_document_id(ontology, line.document)
    hashes = [hash_content(each.text) for each in line.sources]
    starts = [*accumulate((len(each.text) for each in line.sources), initial=len(line.preface))]
    return DocumentRecord(
        document_id=identity,
        ontology=ontology,
        document=line.document,
        title=line.title,
        uri=line.uri,
        format=line.format,
        content_hash=line.content_hash,
        characters=starts[-1],  # of the lines, which a user may have edited
        preface=line.preface,
        metadata=json.dumps(line.metadata, ensure_ascii=False, sort_keys=True),
        sources=tuple(
            SourceRecord(
                source_id,
                paragraph,
                tuple(each.heading),
                each.text,
                own_hash,
                start,
                start + len(each.text),
                tuple(SourceBlock(kind, at) for kind, at in each.blocks),
                page=each.page,
                last_page=each.last_page,
                ocr_confidence=each.ocr_confidence,
                word_boxes=None if each.word_boxes is None else base64.b64decode(each.word_boxes),
                image=None if each.image is None else StoredImage(**each.image.model_dump()),
            )
            for paragraph, (source_id, own_hash, start, each) in enumerate(
                zip(build_source_ids(identity, hashes), hashes, starts, line.sources, strict=False)
            )
        ),
        original=line.original,
    )


def check_passages(line: BundledPassages, sources: Mapping[int, StoredSource]) -> None:
    """Check that vectors, chunks, and quotes are within the stored sources of the document."""
    lengths = {at: len(each.text.full_text) for at, each in sources.items()}
    covered = {at for each in line.chunks for at in range(each.first, each.last + 1)}
    if not lengths.keys() >= covered.union(each.paragraph for each in line.passages):
        raise InvalidInput("the line refers to an unknown source")
    for chunk in line.chunks:
        if chunk.offset > lengths[chunk.first] or chunk.end_offset > lengths[chunk.last]:
            raise InvalidInput("a chunk exceeds its source")
    for each in line.passages:
        if each.embedded and each.vector is None and each.paragraph not in covered:
            raise InvalidInput(f"the source {each.paragraph} has neither a vector nor a chunk")
        quotes = [
            quote for evidence in each.evidence for concept in evidence.concepts for quote in concept.quotes
        ]
        quotes += [relation.quote for said in each.evidence for relation in said.relations if relation.quote]
        if any(not quote.start < quote.end <= lengths[each.paragraph] for quote in quotes):
            raise InvalidInput("a quote is not within its source")


def build_batch(ontology: str, line: BundledPassages, stored: Mapping[int, StoredSource]) -> EmbeddedBatch:
    """Build the vectors of sources that are not embedded, with all their chunks."""
    wanted = {
        each.paragraph: each.vector
        for each in line.passages
        if each.embedded and not stored[each.paragraph].is_embedded
    }
    chunks = [each for each in line.chunks if any(each.first <= at <= each.last for at in wanted)]
    covered = {*wanted, *(at for each in chunks for at in range(each.first, each.last + 1))}
    ids = {at: each.text.source_id for at, each in stored.items()}

    def place(chunk: BundledChunk) -> ChunkPlace:
        own = tuple(ids[at] for at in range(chunk.first, chunk.last + 1))
        document = build_document_id(ontology, line.document)
        return ChunkPlace(chunk.chunk_id, document, own, chunk.offset, chunk.end_offset)

    return EmbeddedBatch(
        ontology=ontology,
        sources=[stored[at].text for at in sorted(covered)],
        due=frozenset(ids[at] for at in wanted),
        vectors={ids[at]: unpack(vector) for at, vector in wanted.items() if vector},
        chunks=[NewChunk(place(each), unpack(each.vector)) for each in chunks if each.vector],
        parents=[NewParent(place(each), tuple(each.children)) for each in chunks if each.children],
        keep=frozenset(each.chunk_id for each in chunks),
    )


def build_extraction(given: BundledEvidence, source: StoredSource) -> Extraction:
    text = source.text.full_text

    def build_quote(quote: BundledQuote) -> Quote:
        return Quote(text[quote.start : quote.end], quote.start, quote.end, quote.score, quote.said)

    return Extraction(
        source.text.source_id,
        source.text.content_hash,
        tuple(
            ExtractedConcept(
                each.label,
                tuple(map(build_quote, each.quotes)),
                each.description,
                tuple(each.search_terms),
                each.confidence,
                tuple(each.unverified),
            )
            for each in given.concepts
        ),
        tuple(
            ExtractedRelation(
                each.subject, each.type, each.object, each.confidence, each.quote and build_quote(each.quote)
            )
            for each in given.relations
        ),
        given.unverified,
    )


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

    def take(self, ontology: str, lines: Iterable[BundledLine]) -> ImportedLines:
        """Store documents with their vectors and evidence. Idempotent."""
        state = read_embedding_state(self._graph, ontology)
        by_document: dict[str, GivenDocument] = {}
        for line in lines:
            known = by_document.setdefault(line.document, GivenDocument(line.document))
            if isinstance(line, BundledPassages):
                known.passages.append(line)
            elif known.line is not None or known.passages:
                raise InvalidInput(f"a duplicate document: {line.document!r}")
            else:
                known.line = line
        return self._store_or_name(state, [*by_document.values()])

    def _store_or_name(self, state: EmbeddingState, given: Sequence[GivenDocument]) -> ImportedLines:
        """Store documents together. If that fails, store each separately to isolate the error."""
        records = [build_record(state.ontology, each.line) for each in given if each.line]
        store = build_storing(records, self._extract)

        def write(tx: Transaction) -> ImportedLines:
            done = ImportedLines()
            results = [result.change.change for result in store(tx)] if records else []
            done.stored, done.replaced = results.count("created"), results.count("updated")
            done.unchanged = results.count("unchanged")
            new = {
                each.document
                for each, outcome in zip(records, results, strict=True)
                if outcome != "unchanged"
            }
            _keep_changes(tx, state.ontology, [each.line for each in given if each.line and each.name in new])
            _write_passages(tx, state, [line for each in given for line in each.passages], done)
            return done

        try:
            forget_evidence_of_gone(self._graph, records)
            return self._graph.transaction(write)
        except Unavailable:
            raise
        except KgError as error:
            if len(given) == 1:
                return ImportedLines(problems=[f"{given[0].name}: {error}"])
        done = ImportedLines()
        for each in given:
            done.add(self._store_or_name(state, [each]))
        return done


def _keep_changes(tx: Transaction, ontology: str, lines: Sequence[BundledDocument]) -> None:
    changes: dict[str, str] = {}
    for line in lines:
        if line.changes is not None:
            fields = line.changes.model_dump(exclude_none=True, include={"title", "uri"})
            own = {**fields, "metadata": line.changes.metadata}
            identity = build_document_id(ontology, line.document)
            changes[identity] = json.dumps(own, ensure_ascii=False, sort_keys=True)
    keep_changes(tx, changes)


def _write_passages(
    tx: Transaction, state: EmbeddingState, lines: Sequence[BundledPassages], done: ImportedLines
) -> None:
    """Write the vectors and the evidence that belong to the stored text."""
    by_id = [(build_document_id(state.ontology, line.document), line) for line in lines]
    hashes = hold_documents(tx, {identity for identity, _ in by_id})
    plans = {plan.mark.value: plan for plan in state.texts}
    by_mark: defaultdict[str, list[Extraction]] = defaultdict(list)
    for identity, line in by_id:
        embedded = sum(each.embedded for each in line.passages)
        if hashes.get(identity) != line.content_hash:  # changed by somebody since
            done.anew += embedded
            continue
        plan = plans.get(line.mark)
        ends = [each.paragraph for each in line.passages] + [each.last for each in line.chunks]
        places = range(min([*ends, *(each.first for each in line.chunks)]), max(ends) + 1)
        stored = read_stored_sources(tx, identity, plan.mark if plan else state.target.mark, places)
        check_passages(line, stored)
        if plan is None:
            done.anew += embedded
        elif (batch := build_batch(state.ontology, line, stored)).due:
            require_own_chunks(tx, batch, plan.space)
            done.vectors += write_batch(tx, batch, plan.space, plan.mark)
        for each in line.passages:
            source = stored[each.paragraph]
            for said in each.evidence:
                # Evidence by an extractor of this database stays
                if not source.extracted_with:
                    by_mark[said.extracted_with].append(build_extraction(said, source))
    for mark, found in sorted(by_mark.items()):
        done.concepts += write_extractions(tx, state.ontology, found, mark)


class TransferService:
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
        """Create an ontology as a bundle configures it. An existing one keeps its own (needs `replace`)."""
        require_format(given.format)
        if given.schema_version > get_schema_version():
            raise InvalidInput(
                f"the bundle is of a later kg: its database has the schema {given.schema_version}, "
                f"this one {get_schema_version()}. Upgrade this kg first. Nothing was changed."
            )
        wanted = given.configuration
        created = wanted.ontology not in read_embedding_states(self._graph, wanted.ontology)
        if not (created or given.replace):
            raise Conflict(
                f"ontology {wanted.ontology!r} exists. To replace its documents with the same names, or to "
                "continue an interrupted import, pass --replace"
            )
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
        change = EmbeddingConfigChange.model_validate({**wanted.embedding.model_dump(), "space": space.slug})
        takes_extraction = True
        try:
            self._extraction.require_usable(name, wanted.extraction)
        except InvalidInput as error:
            takes_extraction = False
            notes.append(f"how concepts are extracted from {name!r} was not taken over: {error}")

        def write_all(tx: Transaction) -> None:
            write_language(tx, name, wanted.language)
            write_synonyms(tx, name, wanted.synonyms)
            if takes_extraction:
                write_extraction(tx, name, wanted.extraction)

        self._configure.change(name, change, dry_run=False, along=write_all)
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
        return get_default_space(spaces)


def _describe_other_vectors(wanted: BundledOntology, *, created: bool) -> str:
    reason = (
        f"the vectors of the bundle are of {wanted.model}, and this kg embeds {wanted.ontology!r} otherwise"
    )
    if not created or not wanted.space:
        return f"{reason}: kg re-embeds its sources"
    new = wanted.space
    return (
        f"{reason}: kg re-embeds its sources. To import the vectors instead, configure the model, run "
        f"`kg delete ontology {shlex.quote(wanted.ontology)}` and `kg admin spaces create {new.slug} "
        f"--provider {new.provider} --model {new.model} --dimensions {new.dimensions}`, and import again"
    )
