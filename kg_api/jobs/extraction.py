"""The job that extracts an ontology's concepts, document by document, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

import structlog

from kg_api.errors import ConfigurationError, NotFound
from kg_api.extraction.llm import AT_ONCE, Extractor, Extractors, get_automatic_selection
from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import (
    StoredExtraction,
    count_for_extraction,
    list_pending_extractions,
    note_all_read,
    read_extraction,
    write_extractions,
)
from kg_api.graph.jobs import EXTRACTION
from kg_api.graph.vectors import (
    DocumentAbout,
    SourceText,
    list_document_sources,
    parse_reading_place,
    read_document_facts,
)
from kg_api.jobs.runner import (
    BatchPipeline,
    CircuitState,
    JobRun,
    format_cursor,
    iterate_batches,
    parse_cursor_place,
    run_rounds,
)
from kg_api.providers.retrying import ask_at_once
from kg_api.schemas.concepts import Extraction, ExtractionConfig
from kg_api.schemas.vocabulary import Selection

log = structlog.get_logger()

KIND = EXTRACTION
NO_DOCUMENT = DocumentAbout("", {})  # for a document that was deleted
LLM_BATCH = 32  # Sources per batch with a language model. Requests of a batch run in parallel.
READ_AHEAD = 2  # batches in flight without a language model, where a lost batch costs no money
MAX_REFUSED = 20  # if this many sources fail before one succeeds, the model is at fault


class ConceptExtraction:
    kind = KIND

    def __init__(self, graph: Graph, extractors: Extractors, batch_size: int) -> None:
        self._graph = graph
        self._extractors = extractors
        self._batch_size = batch_size

    def run(self, run: JobRun) -> None:
        run_rounds(run, lambda: self._round(run))

    def _round(self, run: JobRun) -> bool:
        """Process all pending sources, and return whether another round is necessary."""
        stored = self._read_stored(run.job.ontology or "")
        if stored is None:
            return False
        used = self._extractors.get_used_config(stored.config)
        extractor = self._extractors.open(stored.ontology, used, run.job.job_id)
        if extractor is None:
            return False
        resumed = bool(run.cursor)
        wanted = get_automatic_selection(stored, used, extractor.mark)
        run.expect(count_for_extraction(self._graph, stored.ontology, extractor.mark, wanted))
        size = LLM_BATCH if extractor.name == "llm" else self._batch_size
        over = ExtractionPass(self._graph, run, stored.ontology, extractor, wanted)
        is_current = CircuitState(lambda: not self._has_changed(stored))
        over.run(size, is_current)
        if not is_current():
            return True
        if stored.asked == extractor.mark and not over.has_pending():
            read = partial(note_all_read, ontology=stored.ontology, mark=extractor.mark)
            run.commit(read, after=run.cursor, done=0)
        return (resumed or over.passed_over > 0) and over.has_pending() and (over.written > 0 or resumed)

    def _read_stored(self, ontology: str) -> StoredExtraction | None:
        try:
            return read_extraction(self._graph, ontology)
        except NotFound:
            return None

    def _has_changed(self, stored: StoredExtraction) -> bool:
        """Check if the ontology was reconfigured or deleted."""
        now = self._read_stored(stored.ontology)
        return now is None or (_to_plain(now.config), now.asked) != (_to_plain(stored.config), stored.asked)


class ExtractionPass:
    def __init__(
        self, graph: Graph, run: JobRun, ontology: str, extractor: Extractor, selection: Selection
    ) -> None:
        self._mark = extractor.mark
        self._selection: Selection = selection
        self.written = 0
        self.passed_over = 0
        self._graph = graph
        self._run = run
        self._ontology = ontology
        self._extractor = extractor
        self._found = False
        self._document: tuple[str, Sequence[SourceText]] = ("", ())

    def _read_due(self, after: str, limit: int) -> list[SourceText]:
        place, wanted = parse_reading_place(after), self._selection
        return list_pending_extractions(
            self._graph, self._ontology, self._mark, place, limit, selection=wanted
        )

    def run(self, size: int, is_current: Callable[[], bool]) -> None:
        read = iterate_batches(parse_cursor_place(self._run.cursor, self._mark), self._read_due, size)
        room = 1 if self._extractor.name == "llm" else READ_AHEAD
        with BatchPipeline(self._run, self._extract, room=room) as flight:
            for landed in flight.run(read, is_current):
                for due, extracted in landed:
                    self._write(extracted(), due[-1])

    def has_pending(self) -> bool:
        """Check if any source is pending, at any position."""
        return bool(self._read_due("", 1))

    def _extract(self, due: Sequence[SourceText]) -> list[Extraction]:
        about = read_document_facts(self._graph, [source.document_id for source in due])
        asked: list[tuple[list[SourceText], Sequence[SourceText], DocumentAbout]] = []
        for document_id, group in groupby(due, key=lambda source: source.document_id):
            mine = list(group)
            known = about.get(document_id, NO_DOCUMENT)
            asked.append((mine, self._read_sources(document_id, mine), known))
        if self._extractor.name != "llm":
            return [each for one in asked for each in self._extractor.extract(*one)]
        # keep the model busy even if documents are short
        found = ask_at_once([partial(self._extractor.extract, *one) for one in asked], AT_ONCE)
        return [each for one in found for each in one]

    def _read_sources(self, document_id: str, due: Sequence[SourceText]) -> Sequence[SourceText]:
        """Return the cached sources of a document, and read them again after a change."""
        known = {source.source_id: source for source in self._document[1]}
        if self._document[0] != document_id or any(known.get(each.source_id) != each for each in due):
            self._document = (document_id, list_document_sources(self._graph, document_id))
        return self._document[1]

    def _write(self, found: Sequence[Extraction], last: SourceText) -> None:
        refused = [each for each in found if each.refused is not None]
        self._found = self._found or len(refused) < len(found)
        if not self._found and len(refused) >= MAX_REFUSED:
            raise ConfigurationError(
                f"extraction failed for all {len(refused)} sources: {refused[-1].refused}. Choose "
                "another model in KG_LLM__MODEL, or another extractor"
            )
        written = self._run.commit(
            lambda tx: write_extractions(tx, self._ontology, found, self._mark),
            after=format_cursor(self._mark, last),
            done=len(found),
            set_aside=len(refused),
        )
        self.written += written
        self.passed_over += len(found) - written
        if unverified := sum(each.unverified for each in found):
            log.warning("quotes are not in their sources", ontology=self._ontology, quotes=unverified)
        for each in refused:
            log.warning("source not extracted", source_id=each.source_id, reason=each.refused)


def _to_plain(config: ExtractionConfig) -> dict[str, object]:
    return config.model_dump(exclude_none=True)
