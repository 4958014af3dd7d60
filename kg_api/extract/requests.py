"""Asking for extraction: by a person, with text that comes in, or because some is due."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import structlog

from kg_api.extract.open import Extractors
from kg_api.graph.concepts.extraction_config import (
    StoredExtraction,
    ask_for_all,
    hold_extraction,
    read_extraction,
    retry_unread,
)
from kg_api.graph.concepts.writes import count_for_extraction, reading_mark
from kg_api.graph.database import Graph, Reader, Transaction
from kg_api.graph.jobs.records import EXTRACTION
from kg_api.graph.jobs.requests import ensure_job, is_asked_for, request_job, would_be_taken
from kg_api.graph.jobs.views import MAX_COOLDOWN_SECONDS, rests
from kg_api.graph.spaces.flags import Flags
from kg_api.models.concepts.extraction_config import UsedExtraction
from kg_api.models.vocabulary import Selection

log = structlog.get_logger()


def selection(stored: StoredExtraction, used: UsedExtraction, mark: str) -> Selection:
    """What is read without being asked for: all that the extractor has not read, or only what none has.

    A language model costs money. What another model, prompt or number of concepts has read stays as it is
    until somebody asks for it.

    Args:
        stored: of the ontology.
        used: how it is extracted.
        mark: of its extractor.
    """
    return "missing" if used.extractor == "llm" and stored.asked != mark else "due"


class ExtractionRequests:
    """Makes the jobs that extract concepts."""

    def __init__(self, graph: Graph, extractors: Extractors) -> None:
        self._graph = graph
        self._extractors = extractors
        self._begun = time.monotonic()
        self._flags = Flags(graph)

    def due(self, stored: StoredExtraction) -> int:
        """How many sources of an ontology are read without being asked for; 0 without an extractor."""
        used = self._extractors.used(stored.config)
        if used.extractor == "none":
            return 0
        mark = self._extractors.mark(used)
        return count_for_extraction(self._graph, stored.ontology, mark, selection(stored, used, mark))

    def begin(self, ontology: str, *, everything: bool = False) -> tuple[int, str | None]:
        """Have read what is due, and what was set aside; how many sources, and the job.

        Args:
            ontology: whose.
            everything: what was read by another extractor, too; with a language model that costs.

        Raises:
            NotFound: there is no such ontology.
            TooBusy: too many jobs wait.
        """
        stored = read_extraction(self._graph, ontology)
        used = self._extractors.used(stored.config)
        if used.extractor == "none":
            return 0, None
        mark = self._extractors.mark(used)
        due = self.due(replace(stored, asked=mark) if everything else stored)

        def ask(tx: Transaction) -> tuple[int, str | None]:
            all_due = due + retry_unread(tx, ontology)
            if everything:
                ask_for_all(tx, ontology, mark if all_due else None)
            if not all_due:
                return 0, None
            added = 0 if is_asked_for(tx, EXTRACTION, ontology) else all_due
            return all_due, request_job(tx, EXTRACTION, ontology, added=added)

        return self._graph.transaction(ask)

    def ask(self, tx: Transaction, ontology: str, added: int) -> None:
        """Have so many new sources read within the transaction that stores them, unless nobody wants that.

        No text is refused because too many jobs wait: what is not asked for now, the next `look` asks for.
        """
        if self._is_wanted(tx, read_extraction(tx, ontology)) and would_be_taken(tx, EXTRACTION, ontology):
            request_job(tx, EXTRACTION, ontology, added=added, limited=False, paused=False)

    def look(self, stored: StoredExtraction) -> None:
        """Make the job if something is due, unless it was cancelled, or has died of what a person must mend.

        Raises:
            TooBusy: too many jobs wait.
        """
        if not self._is_wanted(self._graph, stored):
            return
        mark = reading_mark(self._extractors.mark(self._extractors.used(stored.config)))
        self._flags.keep(
            stored.ontology, mark, lambda tx: hold_extraction(tx, stored.ontology) == stored.config
        )
        if not (due := self.due(stored)):
            return
        job_id, created = ensure_job(self._graph, EXTRACTION, stored.ontology, total=due)
        if created:
            log.info("extraction enqueued", job_id=job_id, ontology=stored.ontology, due=due)

    def _is_wanted(self, graph: Reader, stored: StoredExtraction) -> bool:
        """Whether to begin by itself.

        After a fault that a person must mend a language model waits for one, whoever starts anew: each try
        costs.
        """
        used = self._extractors.used(stored.config)
        if stored.paused or used.extractor == "none":
            return False
        after_fault = math.inf if used.extractor == "llm" else MAX_COOLDOWN_SECONDS
        uptime = time.monotonic() - self._begun
        return not rests(graph, EXTRACTION, stored.ontology, at_most=uptime, after_fault=after_fault)
