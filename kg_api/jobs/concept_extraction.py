"""The job that extracts an ontology's concepts: fetch due -> extract by document -> write, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

import structlog

from kg_api.errors import ConfigurationError, NotFound
from kg_api.extract.llm import AT_ONCE
from kg_api.extract.open import Extractors
from kg_api.extract.port import Extractor
from kg_api.graph.concept_writes import count_for_extraction, due_for_extraction, write_extractions
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.due import DocumentAbout, SourceText, about_documents, sources_of_document
from kg_api.graph.extraction_config import StoredExtraction, read_extraction
from kg_api.graph.job_records import EXTRACTION
from kg_api.jobs.run import JobRun
from kg_api.models.extraction import Extraction
from kg_api.models.extraction_config import ExtractionConfig

log = structlog.get_logger()

KIND = EXTRACTION
BEGINNING = ("", -1)
NO_DOCUMENT = DocumentAbout("", {})
"""Of a document that has gone meanwhile."""
LOOKED_SECONDS = 1.0
"""How long it is believed that an ontology is configured as it was."""
LLM_BATCH = 32
"""Sources that a language model reads before what it found is written: so many are asked about at once."""
MOST_REFUSED = 20
"""So many sources refused before anything is found are no matter of single texts."""


class ConceptExtraction:
    """Handles jobs of kind `concept_extraction`."""

    kind = KIND

    def __init__(self, graph: Graph, extractors: Extractors, batch_size: int) -> None:
        self._graph = graph
        self._extractors = extractors
        self._batch_size = batch_size

    def run(self, run: JobRun) -> None:
        """Read what is due until nothing is left, by the configuration as it is then."""
        while True:
            stored = self._stored(run.job.ontology or "")
            if stored is not None and self._round(run, stored):
                run.begin_anew()
            elif run.finish():
                return

    def _stored(self, ontology: str) -> StoredExtraction | None:
        """None when the ontology has gone."""
        try:
            return read_extraction(self._graph, ontology)
        except NotFound:
            return None

    def _round(self, run: JobRun, stored: StoredExtraction) -> bool:
        """Walk over all that is due; whether to go round again."""
        extractor = self._extractors.open(stored.ontology, self._extractors.used(stored.config))
        if extractor is None:
            return False
        resumed = bool(run.cursor)
        run.expect(count_for_extraction(self._graph, stored.ontology, extractor.mark))
        size = LLM_BATCH if extractor.name == "llm" else self._batch_size
        walk = Walk(self._graph, run, stored.ontology, extractor, size)
        for _ in walk.batches():
            if walk.is_time_to_look() and self._changed(stored):
                return True
        return (resumed or walk.passed_over > 0) and walk.left() and (walk.written > 0 or resumed)

    def _changed(self, stored: StoredExtraction) -> bool:
        """Whether the ontology is configured in another way by now, or has gone."""
        now = self._stored(stored.ontology)
        return now is None or _plain(now.config) != _plain(stored.config)


class Walk:
    """One round over an ontology's sources that are due, in reading order."""

    def __init__(self, graph: Graph, run: JobRun, ontology: str, extractor: Extractor, size: int) -> None:
        self.written = 0
        """Sources that were read or set aside."""
        self.passed_over = 0
        """Sources that changed while they were read."""
        self._graph = graph
        self._run = run
        self._ontology = ontology
        self._extractor = extractor
        self._size = size
        self._found = False
        self._looked_at = time.monotonic()
        self._document: tuple[str, list[SourceText]] = ("", [])

    def batches(self) -> Iterator[None]:
        """Read and write a batch each time.

        Raises:
            ConfigurationError: nothing could be extracted from any of many sources.
        """
        mark = self._extractor.mark
        place = _place(self._run.cursor, mark)
        while due := due_for_extraction(self._graph, self._ontology, mark, place, self._size):
            self._run.checkpoint()
            self._write(self._extracted(due), due[-1], mark)
            place = (due[-1].document_id, due[-1].paragraph)
            yield
            if len(due) < self._size:
                return

    def left(self) -> bool:
        """Whether anything is due, wherever it stands."""
        return bool(due_for_extraction(self._graph, self._ontology, self._extractor.mark, BEGINNING, 1))

    def is_time_to_look(self) -> bool:
        """Whether it is a while since somebody looked how the ontology is configured."""
        now = time.monotonic()
        if now - self._looked_at < LOOKED_SECONDS:
            return False
        self._looked_at = now
        return True

    def _extracted(self, due: Sequence[SourceText]) -> list[Extraction]:
        about = about_documents(self._graph, [source.document_id for source in due])
        asked: list[tuple[list[SourceText], list[SourceText], DocumentAbout]] = []
        for document_id, group in groupby(due, key=lambda source: source.document_id):
            mine = list(group)
            asked.append((mine, self._sources(document_id, mine), about.get(document_id, NO_DOCUMENT)))
        if self._extractor.name != "llm":
            return [each for one in asked for each in self._extractor.extract(*one)]
        with ThreadPoolExecutor(AT_ONCE) as pool:  # documents may be short: the model is to be kept busy
            found = [pool.submit(self._extractor.extract, *one) for one in asked]
            return [each for one in found for each in one.result()]

    def _sources(self, document_id: str, due: Sequence[SourceText]) -> list[SourceText]:
        """Of a document, which may come in many batches; read again when it has changed."""
        known = {source.source_id: source for source in self._document[1]}
        if self._document[0] != document_id or any(known.get(each.source_id) != each for each in due):
            self._document = (document_id, sources_of_document(self._graph, document_id))
        return self._document[1]

    def _write(self, found: Sequence[Extraction], last: SourceText, mark: str) -> None:
        refused = [each for each in found if each.refused is not None]
        self._found = self._found or len(refused) < len(found)
        if not self._found and len(refused) >= MOST_REFUSED:
            raise ConfigurationError(
                f"nothing could be extracted from any of {len(refused)} sources: {refused[-1].refused}; "
                "choose another model by KG_LLM__MODEL, or another extractor"
            )
        done: list[int] = []

        def write(tx: Transaction) -> None:
            done[:] = [write_extractions(tx, self._ontology, found, mark)]

        after = f"{mark}:{last.document_id}:{last.paragraph}"
        self._run.commit(write, after=after, done=len(found), set_aside=len(refused))
        self.written += sum(done)
        self.passed_over += len(found) - sum(done)
        if unverified := sum(each.unverified for each in found):
            log.warning("quotes are not in their sources", ontology=self._ontology, quotes=unverified)
        for each in refused:
            log.warning("source not extracted", source_id=each.source_id, reason=each.refused)


def _plain(config: ExtractionConfig) -> dict[str, object]:
    return config.model_dump(exclude_none=True)


def _place(cursor: str, mark: str) -> tuple[str, int]:
    """Where a resumed job goes on; from the beginning by another extractor."""
    before, _, place = cursor.partition(":")
    document, _, paragraph = place.partition(":")
    return (document, int(paragraph)) if before == mark and document else BEGINNING
