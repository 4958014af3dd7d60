"""Taking in what was exported: documents with their vectors and concepts, each part in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeVar

from kg_api.blobs.port import key_of
from kg_api.bundle.order import check_concepts, check_vectors
from kg_api.errors import InvalidInput, KgError, TooBusy, Unavailable
from kg_api.graph.bundle.writes import (
    StoredSources,
    hold_documents,
    keep_changes,
    require_own_chunks,
    stored_sources,
    waiting_among,
)
from kg_api.graph.concepts.writes import write_extractions
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.documents.writes import (
    AskForExtraction,
    StoreResult,
    forget_evidence_of_gone,
    split_to_transactions,
    storing,
)
from kg_api.graph.spaces.chunks import write_batch
from kg_api.graph.spaces.marks import Mark
from kg_api.images.files import StoredFiles
from kg_api.models.bundle.lines import BundledConcepts, BundledLine, BundledVectors
from kg_api.models.bundle.manifest import ImportedLines, KeptBlob
from kg_api.models.identity import document_id
from kg_api.models.library.documents import DocumentRecord
from kg_api.moving.reading import GivenLines, embedded_batch, extraction, joined, places_of, sort_lines
from kg_api.spaces.plans import EmbeddingState, Plan, read_embedding_state

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
        plans = {plan.mark.value: plan for plan in self._state.plans}
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
