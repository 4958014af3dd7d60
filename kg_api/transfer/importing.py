"""From lines of a bundle to what is stored, named and hashed as what is ingested. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeVar

from kg_api.blobs.images import StoredFiles
from kg_api.blobs.store import key_of
from kg_api.errors import InvalidInput, KgError, TooBusy, Unavailable
from kg_api.graph.bundle import (
    StoredSources,
    hold_documents,
    keep_changes,
    require_own_chunks,
    stored_sources,
    waiting_among,
)
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_writes import write_extraction, write_extractions
from kg_api.graph.document_writes import (
    AskForExtraction,
    StoreResult,
    forget_evidence_of_gone,
    split_to_transactions,
    storing,
)
from kg_api.graph.fulltext import write_language, write_synonyms
from kg_api.graph.proposals import write_configuration
from kg_api.graph.spaces import Mark, Space, all_spaces, text_spaces
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
from kg_api.spaces.plans import EmbeddingState, Plan, read_embedding_state, read_embedding_states
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


@dataclass(slots=True)
class GivenLines:
    """Lines, sorted by what they are about."""

    records: list[DocumentRecord] = field(default_factory=list[DocumentRecord])
    changes: dict[str, str] = field(default_factory=dict[str, str])
    """By document id, what somebody changed of it."""
    vectors: list[BundledVectors] = field(default_factory=list[BundledVectors])
    concepts: list[BundledConcepts] = field(default_factory=list[BundledConcepts])


def sort_lines(ontology: str, lines: Iterable[BundledLine]) -> GivenLines:
    """Lines of whole documents; or lines about documents that came before, and nothing else.

    Raises:
        InvalidInput: they do not fit each other.
    """
    given, order = GivenLines(), LineOrder(ontology)
    document: BundledDocument | None = None
    sources: list[BundledSource] = []
    for line in lines:
        if not isinstance(line, BundledDocument) and document is None:
            _add_alone(given, line)
            continue
        order.add(line)
        if isinstance(line, BundledDocument):
            _close(given, ontology, document, sources)
            document, sources = line, []
        elif isinstance(line, BundledSource):
            sources.append(line)
        else:
            _add_alone(given, line)
    order.end()
    _close(given, ontology, document, sources)
    return given


def _add_alone(given: GivenLines, line: BundledLine) -> None:
    if isinstance(line, BundledVectors):
        check_sizes(line)
        given.vectors.append(line)
    elif isinstance(line, BundledConcepts):
        given.concepts.append(line)
    else:
        raise InvalidInput("a source stands before any document")


def _close(
    given: GivenLines, ontology: str, document: BundledDocument | None, sources: Sequence[BundledSource]
) -> None:
    if document is None:
        return
    record = _record(ontology, document, sources)
    given.records.append(record)
    if document.changes is not None:
        told = document.changes.model_dump(exclude_none=True, include={"title", "uri"})
        changes = {**told, "metadata": document.changes.metadata}
        given.changes[record.document_id] = json.dumps(changes, ensure_ascii=False, sort_keys=True)


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


def places_of(lines: Iterable[BundledVectors | BundledConcepts]) -> range:
    """From the first source to the last one that lines are about, with all that chunks of it cover."""
    places = [place for line in lines for place in _ends(line)]
    return range(min(places, default=0), max(places, default=-1) + 1)


def _ends(line: BundledVectors | BundledConcepts) -> Iterator[int]:
    if isinstance(line, BundledConcepts):
        yield line.paragraph
        return
    yield from line.paragraphs
    yield from (end for each in line.chunks for end in (each.first, each.last))


def embedded_batch(
    ontology: str, line: BundledVectors, sources: Mapping[int, SourceText], due: frozenset[str]
) -> EmbeddedBatch:
    """Vectors as they are written of what is due, with all chunks of it.

    Args:
        ontology: of the document.
        line: its vectors, which fit its sources.
        sources: of the document, by paragraph.
        due: ids of those that have not these vectors yet.
    """
    wanted = [at for at in line.paragraphs if sources[at].source_id in due]
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
    """One line for a source, where several say what one extractor or import found in it."""
    found: dict[tuple[str, int], BundledConcepts] = {}
    for line in lines:
        place = (line.document, line.paragraph)
        found[place] = _together(found[place], line) if place in found else line
    return [*found.values()]


def _together(one: BundledConcepts, other: BundledConcepts) -> BundledConcepts:
    said = {
        "concepts": one.concepts + other.concepts,
        "relations": one.relations + other.relations,
        "unverified": max(one.unverified, other.unverified),
    }
    return one.model_copy(update=said)


def extraction(line: BundledConcepts, source: SourceText) -> Extraction:
    """What was found in a source, as an extractor gives it."""
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


# Taking in what was exported: documents with their vectors and concepts, each part in one transaction.

TRIES = 5


class _CameMeanwhile(Exception):
    """A document that was not there is: somebody stores it at this moment."""


@dataclass(slots=True)
class _Done:
    """What became of some lines."""

    stored: int = 0
    replaced: int = 0
    unchanged: int = 0
    kept: list[str] = field(default_factory=list[str])
    vectors: int = 0
    anew: int = 0
    concepts: int = 0
    problems: list[str] = field(default_factory=list[str])

    def add(self, other: _Done) -> None:
        """Count what became of more."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class ImportService:
    """Stores what bundles hold, by the ways in which it is stored when it is ingested, embedded and read."""

    def __init__(self, graph: Graph, files: StoredFiles, extract: AskForExtraction) -> None:
        self._graph = graph
        self._files = files
        self._extract = extract

    def keep(self, key: str, content: bytes) -> KeptBlob:
        """Keep a file for an hour, or as long as a document uses it.

        Raises:
            InvalidInput: it is not the file of that key.
        """
        if key_of(content) != key:
            raise InvalidInput(f"the file is not the one that is called {key}: it was changed or cut off")
        self._files.keep([content])
        return KeptBlob(key=key)

    def take(self, ontology: str, lines: Iterable[BundledLine], *, replace: bool) -> ImportedLines:
        """Store documents that are not there, with their vectors and what was found in them.

        A document that is there stays as it is, unless it says the same or `replace` is wanted. The same
        lines again change nothing.

        Args:
            ontology: which must be there.
            lines: of whole documents, or vectors and concepts of documents that came before.
            replace: whether a document of the same name takes the place of another text.

        Raises:
            NotFound: there is no such ontology.
            InvalidInput: the lines do not fit each other; nothing was stored.
            Unavailable: nothing can be stored now.
        """
        state = read_embedding_state(self._graph, ontology)
        given = sort_lines(ontology, lines)
        done = _Done()
        for part in self._parts(ontology, given):
            done.add(self._store_or_tell(state, part, replace=replace))
        return ImportedLines(**{name: getattr(done, name) for name in _Done.__slots__})

    def _parts(self, ontology: str, given: GivenLines) -> Iterable[GivenLines]:
        """What one transaction stores: documents with what is said of them; then what comes alone."""
        vectors = _by_document(ontology, given.vectors)
        concepts = _by_document(ontology, given.concepts)
        for records in split_to_transactions(given.records):
            ids = [each.document_id for each in records]
            own = [line for each in ids for line in vectors.pop(each, ())]
            found = [line for each in ids for line in concepts.pop(each, ())]
            changes = {each: given.changes[each] for each in ids if each in given.changes}
            yield GivenLines(records, changes, own, found)
        for each in sorted({*vectors, *concepts}):
            yield GivenLines(vectors=vectors.get(each, []), concepts=concepts.get(each, []))

    def _store_or_tell(self, state: EmbeddingState, part: GivenLines, *, replace: bool) -> _Done:
        """Of documents that cannot be stored together, each alone: one costs no other its place."""
        try:
            return self._store(state, part, replace=replace)
        except Unavailable:
            raise
        except KgError as error:
            if len(part.records) < 2:  # noqa: PLR2004 - one alone
                lines = (*part.records, *part.vectors, *part.concepts)
                names = [each.document for each in lines]
                return _Done(problems=[f"{name}: {error}" for name in names[:1]])
        done = _Done()
        for alone in _each(part):
            done.add(self._store_or_tell(state, alone, replace=replace))
        return done

    def _store(self, state: EmbeddingState, part: GivenLines, *, replace: bool) -> _Done:
        if replace:
            forget_evidence_of_gone(self._graph, part.records)
        call = _Storing(state, part, self._extract, replace=replace)
        for _ in range(TRIES):
            with suppress(_CameMeanwhile):
                return self._graph.transaction(call.run)
        raise TooBusy("others store these documents at this moment: try again")


class _Storing:
    """One transaction, which may run twice; nothing that is there is replaced unasked."""

    def __init__(
        self, state: EmbeddingState, part: GivenLines, extract: AskForExtraction, *, replace: bool
    ) -> None:
        self._state = state
        self._part = part
        self._replace = replace
        self._extract = extract
        self._chosen: list[DocumentRecord] = []
        self._store = storing([], extract)

    def run(self, tx: Transaction) -> _Done:
        done = self._store_documents(tx)
        lines = (*self._part.vectors, *self._part.concepts)
        wanted = {document_id(self._state.ontology, each.document): each.content_hash for each in lines}
        same = {each for each, known in hold_documents(tx, wanted).items() if known == wanted[each]}
        if same:
            self._write_vectors(tx, same, done)
            self._write_concepts(tx, same, done)
        return done

    def _store_documents(self, tx: Transaction) -> _Done:
        done = _Done()
        records = self._choose(tx, done)
        if not records:
            return done
        if records != self._chosen:  # else a second run finds the work of the first
            self._chosen, self._store = records, storing(records, self._extract)
        results = self._store(tx)
        count = [result.change.change for result in results].count
        if count("updated") and not self._replace:
            raise _CameMeanwhile
        taken = [each.document_id for each, result in zip(records, results, strict=True) if _is_new(result)]
        keep_changes(tx, {each: said for each, said in self._part.changes.items() if each in taken})
        done.stored, done.replaced = count("created"), count("updated")
        done.unchanged += count("unchanged")
        return done

    def _choose(self, tx: Transaction, done: _Done) -> list[DocumentRecord]:
        """Those that are stored: nothing again, nor, unless it is wanted, another text of a name."""
        ids = [each.document_id for each in self._part.records]
        known, waiting = hold_documents(tx, ids), waiting_among(tx, ids)
        chosen: list[DocumentRecord] = []
        for each in self._part.records:
            if known.get(each.document_id) == each.content_hash and each not in self._chosen:
                done.unchanged += 1
            elif not self._replace and (
                each.document_id in waiting or known.get(each.document_id) not in (None, each.content_hash)
            ):
                done.kept.append(each.document)
            else:
                chosen.append(each)
        done.kept.sort()
        return chosen

    def _write_vectors(self, tx: Transaction, same: set[str], done: _Done) -> None:
        plans = {plan.mark.value: plan for plan in self._state.texts}
        for mark, group in groupby(sorted(self._part.vectors, key=_mark), key=_mark):
            lines = [line for line in group if self._id(line) in same]
            if (plan := plans.get(mark)) is None:
                done.anew += sum(len(line.paragraphs) for line in lines)
                continue
            stored = self._stored(tx, lines, plan.mark)
            for line in lines:
                done.vectors += self._write_line(tx, plan, line, stored[self._id(line)])

    def _write_line(self, tx: Transaction, plan: Plan, line: BundledVectors, stored: StoredSources) -> int:
        check_vectors(line, stored.lengths)
        batch = embedded_batch(self._state.ontology, line, stored.by_paragraph, stored.not_embedded)
        if not batch.due:
            return 0
        require_own_chunks(tx, batch, plan.space)
        return write_batch(tx, batch, plan.space, plan.mark)

    def _write_concepts(self, tx: Transaction, same: set[str], done: _Done) -> None:
        lines = [line for line in self._part.concepts if self._id(line) in same]
        stored = self._stored(tx, lines, self._state.target.mark)
        for line in lines:
            check_concepts(line, stored[self._id(line)].lengths)
        for (mark, imported), group in groupby(sorted(lines, key=_origin), key=_origin):
            found = [
                extraction(line, known.by_paragraph[line.paragraph])
                for line in joined(group)
                if _is_free(known := stored[self._id(line)], line)
            ]
            if found:
                written = write_extractions(tx, self._state.ontology, found, mark, imported=imported)
                done.concepts += written.done

    def _stored(
        self, tx: Transaction, lines: Sequence[BundledVectors | BundledConcepts], mark: Mark
    ) -> dict[str, StoredSources]:
        """The sources that lines are about, by document."""
        return stored_sources(tx, {self._id(line) for line in lines}, mark, places_of(lines))

    def _id(self, line: BundledVectors | BundledConcepts) -> str:
        return document_id(self._state.ontology, line.document)


def _is_free(stored: StoredSources, line: BundledConcepts) -> bool:
    """What an extractor has read here stays as it has it, and so does what somebody brought."""
    source_id = stored.by_paragraph[line.paragraph].source_id
    return source_id not in stored.brought if line.imported else not stored.extracted_with[source_id]


def _is_new(result: StoreResult) -> bool:
    return result.change.change in {"created", "updated"}


def _mark(line: BundledVectors) -> str:
    return line.mark


def _origin(line: BundledConcepts) -> tuple[str, bool]:
    return line.extracted_with, line.imported


L = TypeVar("L", BundledVectors, BundledConcepts)


def _by_document(ontology: str, lines: Sequence[L]) -> dict[str, list[L]]:
    found: dict[str, list[L]] = {}
    for line in lines:
        found.setdefault(document_id(ontology, line.document), []).append(line)
    return found


def _each(part: GivenLines) -> Iterable[GivenLines]:
    for record in part.records:
        yield GivenLines(
            [record],
            {each: said for each, said in part.changes.items() if each == record.document_id},
            [line for line in part.vectors if line.document == record.document],
            [line for line in part.concepts if line.document == record.document],
        )


# Bundles: what is given out, and what is taken in.


class MovingService:
    """Gives out and takes in what bundles hold."""

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
        """Create an ontology as a bundle has it configured, with its space; an existing one keeps its own.

        Raises:
            InvalidInput: the bundle is of another format, or of a later kg.
        """
        require_format(given.format)
        if given.schema_version > schema_version():
            raise InvalidInput(
                f"the bundle is of a later kg: its database has the schema {given.schema_version}, this one "
                f"{schema_version()}; upgrade this kg first. Nothing was changed."
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
        self._configure.set(
            name, config, dry_run=False, along=lambda tx: _write_all(tx, wanted, extracts=takes_extraction)
        )
        return notes

    def _find_space(self, wanted: BundledOntology, notes: list[str]) -> Space:
        """Return or create the space of the bundle's model; if that fails, the space of new ontologies."""
        spaces = text_spaces(self._graph)
        same = [each for each in spaces.values() if each.fingerprint == wanted.space_fingerprint]
        if found := next((each for each in same if not each.dropping), None):
            return found
        if wanted.space:
            slug = wanted.space.slug
            if slug == FIRST_SLUG or slug in all_spaces(self._graph):
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
        return f"{reason}: its sources are embedded again"
    new = wanted.space
    return (
        f"{reason}: its sources are embedded again. To take the vectors instead, configure the model, run "
        f"`kg delete ontology {wanted.ontology}` and `kg admin spaces create {new.slug} --provider "
        f"{new.provider} --model {new.model} --dimensions {new.dimensions}`, and import again"
    )


def _write_all(tx: Transaction, wanted: BundledOntology, *, extracts: bool) -> None:
    """All that an ontology is configured by, but for how it is embedded, in the transaction that makes it."""
    name = wanted.ontology
    write_language(tx, name, wanted.language)
    write_synonyms(tx, name, wanted.synonyms)
    write_configuration(tx, name, wanted.proposals)
    if extracts:
        write_extraction(tx, name, wanted.extraction)
