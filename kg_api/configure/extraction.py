"""The configuration of an ontology's concept extraction: shown, set, what it costs, and how far it is."""

from __future__ import annotations

from dataclasses import replace

from kg_api.errors import ConfigurationError, InvalidInput, NotFound
from kg_api.extract.cost import extraction_cost
from kg_api.extract.open import Extractors
from kg_api.extract.requests import ExtractionRequests
from kg_api.graph.concepts.extraction_config import (
    ExtractionCounts,
    StoredExtraction,
    count_extraction,
    read_extraction,
    unread_sources,
    write_extraction,
)
from kg_api.graph.database import Graph
from kg_api.graph.jobs.records import EXTRACTION
from kg_api.graph.jobs.views import page_of_jobs
from kg_api.llm.money import price_of
from kg_api.models.concepts.extraction_config import (
    ExtractionConfig,
    ExtractionCost,
    ExtractionStarted,
    ExtractionStatus,
    UnreadSources,
    UsedExtraction,
)
from kg_api.models.vocabulary import JobState
from kg_api.sections import LlmSettings
from kg_api.wording.plural import are, pluralize

MAX_REJECTED = 1000
PRICES = "KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT"


class ExtractionService:
    """How concepts are extracted from ontologies."""

    def __init__(self, graph: Graph, extractors: Extractors, requests: ExtractionRequests) -> None:
        self._graph = graph
        self._extractors = extractors
        self._requests = requests

    def show(self, ontology: str, *, with_cost: bool = False) -> ExtractionStatus:
        """The present configuration and how far extraction is.

        Args:
            ontology: which.
            with_cost: whether to count what reading the sources that are due takes; nothing is asked.

        Raises:
            NotFound: there is no such ontology.
        """
        return self._to_status(read_extraction(self._graph, ontology), [], with_cost=with_cost)

    def set(self, ontology: str, config: ExtractionConfig, *, dry_run: bool) -> ExtractionStatus:
        """Configure an ontology, which is made when it is not there; nothing is changed in a dry run.

        What `config` leaves out stays as it is; None is the service's own setting.

        Raises:
            InvalidInput: it cannot be used; the message says which settings are missing.
        """
        present = self._present(ontology)
        config = present.config.model_copy(update=config.model_dump(exclude_unset=True))
        used = self._extractors.used(config)
        anew = replace(present, config=config)
        is_other = self._mark(used) != self._mark(self._extractors.used(present.config))
        self._check(ontology, used)
        if dry_run:
            anew = replace(anew, asked=self._mark(used)) if is_other else anew
            told = self._to_status(anew, ["nothing was changed: this is a dry run"], with_cost=True)
            return told.model_copy(update={"applied": False})
        self._graph.transaction(lambda tx: write_extraction(tx, ontology, config))
        due, job_id = self._requests.begin(ontology, everything=is_other)
        notes = [f"a worker reads {pluralize(due, 'source')} now: job {job_id}"] if job_id else []
        return self._to_status(read_extraction(self._graph, ontology), notes, with_cost=True)

    def require_usable(self, ontology: str, config: ExtractionConfig) -> None:
        """See that an ontology can be configured so.

        Raises:
            InvalidInput: the message says which settings are missing.
        """
        self._check(ontology, self._extractors.used(config))

    def extract(self, ontology: str, *, stale: bool = False) -> ExtractionStarted:
        """Have concepts extracted from what is due, and from what was set aside.

        Args:
            ontology: which.
            stale: from what another model, prompt or number of concepts has read, too; it may cost.

        Raises:
            NotFound: there is no such ontology.
            InvalidInput: nothing is to be extracted from it, or it cannot be as the service is set up.
            TooBusy: too many jobs wait.
        """
        used = self._extractors.used(read_extraction(self._graph, ontology).config)
        if used.extractor == "none":
            raise InvalidInput(
                f"no concepts are extracted from {ontology!r}; set an extractor by "
                f"`kg admin concepts config --ontology {ontology!r} --extractor keyphrase`"
            )
        self._check(ontology, used)
        due, job_id = self._requests.begin(ontology, everything=stale)
        return ExtractionStarted(ontology=ontology, due=due, job_id=job_id)

    def refused(self, ontology: str) -> UnreadSources:
        """The sources that were set aside, with the reasons.

        Raises:
            NotFound: there is no such ontology.
        """
        mark = self._mark(self._extractors.used(read_extraction(self._graph, ontology).config))
        total = count_extraction(self._graph, ontology, mark)["refused"]
        found = unread_sources(self._graph, ontology, mark, limit=MAX_REJECTED)
        return UnreadSources(ontology=ontology, total=total, sources=found)

    def _present(self, ontology: str) -> StoredExtraction:
        try:
            return read_extraction(self._graph, ontology)
        except NotFound:
            return StoredExtraction(ontology)

    def _check(self, ontology: str, used: UsedExtraction) -> None:
        if problem := self._problem(ontology, used):
            raise InvalidInput(problem)

    def _problem(self, ontology: str, used: UsedExtraction) -> str | None:
        try:
            self._extractors.open(ontology, used)
        except ConfigurationError as error:
            return str(error)
        return None

    def _mark(self, used: UsedExtraction) -> str | None:
        """None when nobody knows which language model's: what any has read counts as read then."""
        unknown = used.extractor == "llm" and self._extractors.settings.llm.model is None
        return None if unknown else self._extractors.mark(used)

    def _last_error(self, ontology: str) -> str | None:
        last, _ = page_of_jobs(self._graph, state=None, kind=EXTRACTION, ontology=ontology, offset=0, limit=1)
        dead = [job for job in last if job.state is JobState.DEAD]
        return f"job {dead[0].job_id} is dead: {dead[0].error or 'no reason is recorded'}" if dead else None

    def _to_status(self, stored: StoredExtraction, notes: list[str], *, with_cost: bool) -> ExtractionStatus:
        used = self._extractors.used(stored.config)
        mark = self._mark(used)
        counts = count_extraction(self._graph, stored.ontology, mark)
        unread = counts["total"] - counts["extracted"] - counts["refused"]
        due = unread if mark is None else self._requests.due(stored)
        stale = unread - due if used.extractor == "llm" else 0
        llm = self._extractors.settings.llm
        cost = extraction_cost(self._graph, stored.ontology, used, llm, due) if with_cost else None
        again = extraction_cost(self._graph, stored.ontology, used, llm, stale) if with_cost else None
        return ExtractionStatus(
            ontology=stored.ontology,
            config=stored.config,
            used=used,
            spent=round(stored.spent, 6),
            expected=round(stored.expected, 6),
            fingerprint=mark,
            model=llm.model if used.extractor == "llm" else None,
            due=due,
            stale=stale,
            **counts,
            cost=cost,
            stale_cost=again if stale else None,
            problem=self._problem(stored.ontology, used),
            last_error=self._last_error(stored.ontology),
            notes=[
                *notes,
                *_advice(stored, used, cost, counts["concepts"]),
                *_stale(stored.ontology, stale, again),
                *_idle_budget(used, llm),
                *_doubts(counts),
            ],
        )


def _advice(
    stored: StoredExtraction, used: UsedExtraction, cost: ExtractionCost | None, concepts: int
) -> list[str]:
    notes: list[str] = []
    if stored.paused:
        notes.append(
            "its last job was cancelled, so nothing is read by itself; begin again by "
            f"`kg admin concepts extract --ontology {stored.ontology!r}`"
        )
    if used.extractor == "none" and concepts:
        notes.append("nothing new is extracted; the concepts that are there stay as long as their sources")
    left = None if used.budget is None else used.budget - stored.spent
    if left is not None and cost is not None and cost.price is not None and cost.price > left:
        notes.append(
            f"that is more than is left of the budget, ${max(left, 0):.4g}: extraction stops when it is "
            "used up, and goes on when the budget is raised"
        )
    return notes


def _stale(ontology: str, stale: int, cost: ExtractionCost | None) -> list[str]:
    """That sources were read by another model, and what reading them again takes."""
    if not stale:
        return []
    price = "" if cost is None or cost.price is None else f" (about ${cost.price:.4g})"
    told = (
        f"{pluralize(stale, 'source')} {are(stale)} stale (read by another model or prompt, or for fewer); "
    )
    return [f"{told}read again{price} only by `kg admin concepts extract --stale --ontology {ontology!r}`"]


def _idle_budget(used: UsedExtraction, llm: LlmSettings) -> list[str]:
    """That a budget bounds nothing: only a language model costs money, by its prices."""
    if used.budget is None or used.extractor == "llm":
        return []
    prices = "" if price_of(llm, 0, 0) is not None else f", whose prices {PRICES} set"
    told = f"the budget has no effect: the extractor is {used.extractor}, and only the language model"
    return [f"{told}{prices}, costs money"]


def _doubts(counts: ExtractionCounts) -> list[str]:
    """Advice where most of what a language model quoted is not in the texts."""
    if counts["unverified_quotes"] <= counts["quotes"]:
        return []
    told = (
        f"{counts['unverified_quotes']} of what was quoted is not in its source or proves nothing, more than "
    )
    told += f"the {counts['quotes']} quotes that do: choose another language model by KG_LLM__MODEL; "
    return [f"{told}`kg concept show` marks what is not proved"]
