"""Reading what a language model writes: only what it can prove is taken. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from kg_api.answer.passages import PromptPassage
from kg_api.extract.quotes import find_quote, says_enough
from kg_api.llm.replies import ObjectReader, as_list, line
from kg_api.models.queries.answering import Citation, Statement

MAX_STATEMENTS = 50
MAX_QUOTES = 20
"""Of a statement so many are looked at."""
MAX_STATEMENT_LENGTH = 2000
MIN_SCORE = 0.95
"""Likeness of a quote to the words of the passage: less lets "ten" pass for "twenty"."""
_OF_PLACE = {"source_id", "ontology", "document", "document_id", "paragraph", "heading"}
_MARK = re.compile(r"\s*\[[^\[\]\s]*#\d+-\d+\]|\s*\[\d{1,3}(?:-[0-9a-f]{4})?\]")
"""A citation that the model writes into its text: only those that were checked are to be seen."""


class Proving:
    """Turns an answer's objects into statements with citations, and counts what it leaves out."""

    def __init__(self, passages: Sequence[PromptPassage]) -> None:
        self._passages = {passage.name: passage for passage in passages}
        self.citations: list[Citation] = []
        """All so far, by number."""
        self.without_citation = 0
        self.refused_citations = 0
        self._reader = ObjectReader()
        self._read = self._unreadable = 0

    @property
    def fault(self) -> str | None:
        """Why the answer is none that can be read, once it is at its end; None when it is one.

        Only an answer that can be read and has no statement says that the passages do not answer.
        """
        if self._read > self._unreadable or self._reader.says_none("statements"):
            return None
        if self._reader.is_blank:
            return "it is empty"
        if self._read:
            return "none of the entries in its list is a statement with quotes"
        if self._reader.found and not self._reader.complete:
            return "it breaks off before its first statement ends"
        return "it holds no list of statements"

    @property
    def notes(self) -> list[str]:
        """What of an answer that can be read was left out, once it is at its end."""
        told: list[str] = []
        if self._unreadable:
            told.append(f"{self._unreadable} of {self._read} entries left out: not statements with quotes")
        if self._read > MAX_STATEMENTS:
            told.append(f"the first {MAX_STATEMENTS} statements were read, the others left out")
        elif self._reader.found and not self._reader.complete:
            told.append(f"it breaks off, or is not JSON, behind {self._read} entries: those were read")
        return told

    def statements(self, pieces: Iterable[str]) -> Iterator[Statement]:
        """Give each statement as soon as it is whole and proved."""
        for item in self._reader.objects(pieces):
            self._read += 1
            if self._read > MAX_STATEMENTS:
                return
            if (proved := self._prove(item)) is not None:
                yield proved

    def _prove(self, item: dict[str, Any]) -> Statement | None:
        text = line(_MARK.sub("", line(item.get("text"), MAX_STATEMENT_LENGTH)), MAX_STATEMENT_LENGTH)
        if not text or not isinstance(item.get("quotes"), list):
            self._unreadable += 1
            return None
        found = [self._citation(quote) for quote in as_list(item.get("quotes"))[:MAX_QUOTES]]
        self.refused_citations += sum(each is None for each in found)
        cited = {each.number: each for each in found if each is not None}
        if not cited:
            self.without_citation += 1
            return None
        return Statement(text=text, citations=list(cited.values()))

    def _citation(self, given: object) -> Citation | None:
        entry = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        passage, quote = self._passages.get(str(entry.get("id"))), entry.get("quote")
        if passage is None or not isinstance(quote, str):
            return None
        found = find_quote(passage.place.full_text, quote)
        if found is None or found.score < MIN_SCORE or not says_enough(found.text, passage.place.full_text):
            return None
        start = passage.place.start + found.start
        end = passage.place.start + found.end
        return self._cite(passage, start, end, found.text, found.score)

    def _cite(self, passage: PromptPassage, start: int, end: int, quote: str, score: float) -> Citation:
        name = f"{passage.place.source_id}#{start}-{end}"
        known = next((each for each in self.citations if each.citation == name), None)
        if known is not None:
            return known
        place = passage.place.model_dump(include=_OF_PLACE)
        number = len(self.citations) + 1
        made = Citation(**place, number=number, citation=name, start=start, end=end, quote=quote, score=score)
        self.citations.append(made)
        return made


def as_text(statements: Sequence[Statement]) -> str:
    """The statements as one text, each with the citations behind it."""
    return " ".join(
        f"{each.text} {''.join(f'[{cited.citation}]' for cited in each.citations)}" for each in statements
    )
