"""Concepts by a language model: asked in batches, read with suspicion, each answer paid for once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kg_api.errors import InvalidInput
from kg_api.extract.asking import (
    VERSION,
    ExtractionPassage,
    answer_tokens,
    batches,
    instruction,
    key_of,
    names,
    passages_of,
    question,
)
from kg_api.extract.budget import LlmBudget
from kg_api.extract.reading import READING, Entry, Unusable, extraction_of, serialize
from kg_api.graph.cache import read_contexts
from kg_api.graph.database import Graph
from kg_api.graph.spaces.due import DocumentAbout, SourceText
from kg_api.llm.money import Reply
from kg_api.llm.prompts import Prompt
from kg_api.llm.replies import parse_entries
from kg_api.models.concepts.extraction import Extraction
from kg_api.models.identity import digest
from kg_api.models.vocabulary import ExtractorName
from kg_api.provider.waiting import ask_at_once, wait

AskCounted = Callable[[Prompt], Reply]
"""`Chat.ask_counted`."""
AT_ONCE = 4
"""Questions that are asked at the same time."""


class LlmExtractor:
    """See `Extractor`; for several threads. What was answered before for the same text costs nothing."""

    def __init__(self, graph: Graph, model: str, ask: AskCounted, budget: LlmBudget, per_source: int) -> None:
        """Nothing is asked yet.

        Args:
            graph: where answers are kept.
            model: the language model's name.
            ask: asks it.
            budget: pays.
            per_source: most concepts of a source.
        """
        self._graph = graph
        self._model = model
        self._ask = ask
        self._budget = budget
        self._per_source = per_source
        self._asking = threading.Semaphore(AT_ONCE)

    @property
    def name(self) -> ExtractorName:
        return "llm"

    @property
    def mark(self) -> str:
        return mark_of(self._model, self._per_source)

    def extract(
        self, due: Sequence[SourceText], document: Sequence[SourceText], about: DocumentAbout
    ) -> list[Extraction]:
        """See `Extractor`.

        Raises:
            LlmUnavailable, ConfigurationError, LlmFailed: the model does not answer as one does.
            BudgetSpent: the ontology's money is used up; what was answered is kept.
        """
        passages = passages_of(due, document)
        keys = [key_of(self._model, self._per_source, about, each) for each in passages]
        wanted = dict(zip(keys, passages, strict=True))
        found = self._recall(wanted)
        found |= self._extract_missing(about, {key: each for key, each in wanted.items() if key not in found})
        return [  # a text may be that of several sources
            replace(found[key], source_id=each.source.source_id, content_hash=each.source.content_hash)
            for key, each in zip(keys, passages, strict=True)
        ]

    def _recall(self, wanted: Mapping[str, ExtractionPassage]) -> dict[str, Extraction]:
        known = read_contexts(self._graph, list(wanted))
        found = {key: self._read(wanted[key], json.loads(text))[0] for key, text in known.items()}
        return {key: each for key, each in found.items() if isinstance(each, Extraction)}

    def _extract_missing(
        self, about: DocumentAbout, missing: Mapping[str, ExtractionPassage]
    ) -> dict[str, Extraction]:
        keys = {id(passage): key for key, passage in missing.items()}
        questions = [
            partial(self._batch, about, [(keys[id(each)], each) for each in batch])
            for batch in batches(list(missing.values()))
        ]
        found = ask_at_once(questions, AT_ONCE)
        return {key: extraction for each in found for key, extraction in each.items()}

    def _batch(
        self, about: DocumentAbout, batch: Sequence[tuple[str, ExtractionPassage]]
    ) -> dict[str, Extraction]:
        """Ask for some passages together, and once more, alone, for each that the answer is of no use for."""
        found = self._once(about, batch)
        for key, passage in batch:
            if isinstance(found[key], str):
                found |= self._once(about, [(key, passage)])
        return {key: _result(passage, found[key]) for key, passage in batch}

    def _once(
        self, about: DocumentAbout, batch: Sequence[tuple[str, ExtractionPassage]]
    ) -> dict[str, Extraction | str]:
        """What is found in passages by one question, or why nothing is."""
        passages = [passage for _, passage in batch]
        asked = question(about, passages, self._per_source)
        reserved = self._budget.reserve(asked, answer_tokens(passages, self._per_source))
        try:
            with self._asking:
                wait(0)
                reply = self._ask(asked)
            said = parse_entries(reply.text, "passages")
            read = {
                key: self._read(passage, said.get(name))
                for name, (key, passage) in zip(names(passages), batch, strict=True)
            }
            answers = {key: text for key, (_, text) in read.items() if text is not None}
            self._budget.keep(answers, asked, reply)
        except InvalidInput as error:  # the server does not take the text
            return {key: str(error) for key, _ in batch}
        finally:
            self._budget.release(reserved)
        return {key: result for key, (result, _) in read.items()}

    def _read(self, passage: ExtractionPassage, entry: Entry | None) -> tuple[Extraction | str, str | None]:
        """What is found, or why nothing is; and what is to be remembered."""
        if entry is None:
            return "its answer leaves it out", None
        try:
            return extraction_of(passage.source, entry, self._per_source), serialize(entry)
        except Unusable as error:
            return str(error), None


def mark_of(model: str, per_source: int) -> str:
    return digest("llm", VERSION, READING, model, instruction(per_source))[:16]


def _result(passage: ExtractionPassage, found: Extraction | str) -> Extraction:
    if isinstance(found, Extraction):
        return found
    reason = f"the language model's answer cannot be used, asked twice: {found}"
    return Extraction(passage.source.source_id, passage.source.content_hash, refused=reason)
