"""Questions that people judged passages for, as questions of a set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kg_api.models.evaluation import JudgedPassage, Reference, SetQuery
from kg_api.models.identity import judged_question_id
from kg_api.models.queries.judgements import JudgedPlace
from kg_api.wording.plural import pluralize

_DIGITS = 12
"""Of an id: so few are enough to tell the questions of an ontology apart."""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """What judgements say, as far as it can be measured."""

    queries: list[SetQuery]
    notes: list[str]
    """What was left out, and why."""


def judged_queries(judgements: Iterable[JudgedPlace]) -> JudgedSet:
    """Make questions of judgements.

    Its passages are told with what was judged of them; a document is as relevant as its best passage. Exact
    places that answer are told where all of a question are in one document, as sets have them. A question
    that nothing was found to answer is left out.

    Args:
        judgements: in any order, each passage once for a question.
    """
    of: dict[tuple[str, str], list[JudgedPlace]] = {}
    gone = 0
    for each in judgements:
        gone += each.start is None
        of.setdefault((each.ontology, each.question), []).append(each)
    made = {key: _query(*key, judged) for key, judged in sorted(of.items())}
    queries = [query for query in made.values() if query.relevant]
    changed = sum(any(each.relevance for each in of[key]) for key in made if not made[key].relevant)
    return JudgedSet(queries, _notes(gone, changed, len(made) - len(queries) - changed))


def _query(ontology: str, question: str, judged: Sequence[JudgedPlace]) -> SetQuery:
    right = [each for each in judged if each.relevance and each.start is not None]
    relevant: dict[str, int] = {}
    for each in right:
        relevant[each.document] = max(each.relevance, relevant.get(each.document, 0))
    passages = sorted(filter(None, map(_passage, judged)), key=lambda each: (each.document, each.start))
    places = tuple(Reference(each.document, each.start, each.end) for each in passages if each.relevance)
    identity = judged_question_id(ontology, question)[:_DIGITS]
    return SetQuery(identity, question, relevant, places if len(relevant) == 1 else (), tuple(passages))


def _passage(judged: JudgedPlace) -> JudgedPassage | None:
    """None: its text has changed since."""
    if judged.start is None or judged.end is None:
        return None
    return JudgedPassage(judged.document, judged.start, judged.end, judged.relevance)


def _notes(gone: int, changed: int, unanswered: int) -> list[str]:
    notes = list[str]()
    if gone:
        notes.append(f"{pluralize(gone, 'judgement')} left out: the passages have changed since")
    if changed:
        notes.append(f"{pluralize(changed, 'question')} left out: all that answered has changed since")
    if unanswered:
        notes.append(f"{pluralize(unanswered, 'question')} left out: nothing was judged to answer")
    return notes
