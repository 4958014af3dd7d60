"""What somebody looks for, as the address of a page has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal, cast

from fastapi import Depends, Query

from kg_api.evaluate.saved.summaries import ontology_of
from kg_api.models.evaluation import EvalResult
from kg_api.models.queries.search import SourceHit, SourceSearch
from kg_api.models.vocabulary import MAX_LIMIT
from kg_api.web.limits.strict_json import valid
from kg_api.web.ui.links import READ, SEARCH, Value, address, below

Way = Literal["hybrid", "vector", "text", "graph"]
Kind = Literal["", "passage", "image"]
USUAL: Final = "hybrid"
WAYS: Final[dict[Way, str]] = {
    "hybrid": "meaning and words",
    "vector": "meaning",
    "text": "words",
    "graph": "meaning, words and the graph",
}
KINDS: Final[dict[Kind, str]] = {"": "text and pictures", "passage": "text", "image": "pictures"}
PAGE_SIZE: Final = 10
MAX_CHARACTERS: Final = 2000
"""Of a question in an address; what is longer is for REST."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for, and where."""

    text: str = ""
    ontology: str = ""
    """Empty: all."""
    way: Way = USUAL
    kind: Kind = ""
    where: tuple[str, ...] = ()
    """Conditions, each on one line: `date>=2025-01-01`."""
    judging: bool = False
    """Whether hits are judged, as answers."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing is looked for yet."""
        return not self.text.strip()

    def as_search(self, limit: int = PAGE_SIZE, cursor: str | None = None) -> SourceSearch:
        """The search that answers it.

        Raises:
            RequestValidationError: naming what of it is wrong.
        """
        asked = {
            "query_text": self.text,
            "ontology": self.ontology or None,
            "mode": USUAL if self.way == "graph" else self.way,
            "graph": self.way == "graph",
            "kinds": [self.kind] if self.kind else None,
            "where": list(self.where) or None,
            "limit": limit,
            "cursor": cursor,
            "include_concepts": True,
        }
        return valid(SourceSearch, asked)

    def parameters(self) -> dict[str, Value]:
        """What an address says of it."""
        way = "" if self.way == USUAL else self.way
        return {
            "q": self.text,
            "ontology": self.ontology,
            "mode": way,
            "kind": self.kind,
            "where": self.where,
            "judging": 1 if self.judging else None,
        }

    def address(self, cursor: str | None = None, seen: int | None = None) -> str:
        """The page of what was found.

        Args:
            cursor: of the hits behind those that were shown; none: the first.
            seen: how many were shown.
        """
        return address(SEARCH, **self.parameters(), cursor=cursor, seen=seen)

    def adding(self, condition: str) -> Question:
        """The same with one more condition."""
        return replace(self, where=(*(each for each in self.where if each != condition), condition))

    def to_judge(self, judging: bool) -> Question:
        """The same with its hits to be judged, or not."""
        return replace(self, judging=judging)

    def without(self, condition: str) -> Question:
        return replace(self, where=tuple(each for each in self.where if each != condition))


def words_of_way(label: str) -> str:
    """A run's label in the words of the search page where it is a mode, also with a number: `text (2)`."""
    mode, mark, number = label.partition(" (")
    return f"{WAYS.get(cast('Way', mode), mode)}{mark}{number}"


def address_of_measured(result: EvalResult, text: str | None) -> str | None:
    """The search that asks a question as a run did; None: its text is not known, or too long.

    Args:
        result: of the run.
        text: of the question.
    """
    if text is None or len(text) > MAX_CHARACTERS:
        return None
    mode = result.config.get("mode")
    way = mode if isinstance(mode, str) and mode in WAYS else USUAL
    return Question(text, ontology_of(result) or "", way).address()


def address_of_hit(question: Question, hit: SourceHit, number: int) -> str:
    """Where a hit is read.

    Args:
        question: what was looked for.
        hit: what was found.
        number: its place among the hits, from 1.
    """
    shown = {"at": hit.paragraph, "hit": number if number <= MAX_LIMIT else None, **question.parameters()}
    return f"{address(below(READ, hit.document_id), **shown)}#p{hit.paragraph}"


async def _asked(
    q: Annotated[str, Query(max_length=MAX_CHARACTERS)] = "",
    ontology: Annotated[str, Query(max_length=1000)] = "",
    mode: Way | Literal[""] = USUAL,
    kind: Kind = "",
    where: Annotated[list[str] | None, Query()] = None,
    *,
    judging: bool = False,
) -> Question:
    conditions = tuple(each for each in where or () if each.strip())
    return Question(q, ontology, mode or USUAL, kind, conditions, judging)


AskedQuestion = Annotated[Question, Depends(_asked)]
"""Of the address that was asked for."""
