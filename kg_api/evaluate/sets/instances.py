"""Questions from the quotes of concepts: two concepts that one document has together. Pure.

A question names both, and their quotes answer it: no sentence of the document is repeated, so full text does
not find it word for word. Where a concept has another name, one that the passage does not use is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kg_api.models.evaluation import Reference, SetQuery
from kg_api.models.identity import concept_name

MAX_SOURCES = 20
"""A concept of more sources is no question: too much answers it."""


@dataclass(frozen=True, slots=True)
class InstanceQuote:
    """A quote that proves a concept, and where it stands."""

    source_id: str
    place: Reference
    passage: str
    """The text of the source."""


@dataclass(frozen=True, slots=True)
class QuotedConcept:
    label: str
    others: tuple[str, ...]
    """Other names for it."""
    quotes: tuple[InstanceQuote, ...]


def pair_query(one: QuotedConcept, other: QuotedConcept, shared: Iterable[str]) -> SetQuery | None:
    """A question for two concepts, without an id; None where they make none.

    Args:
        one: a concept.
        other: another.
        shared: ids of the sources that carry both.
    """
    if _words(one.label) & _words(other.label):
        return None  # one may be a form of the other
    sources = {*shared}
    quotes = [[each for each in some.quotes if each.source_id in sources] for some in (one, other)]
    found = [each for some in quotes for each in some]
    documents = {each.place.document for each in found}
    if not all(quotes) or len(documents) != 1:
        return None
    passage = " ".join(each.passage for each in found)
    names = [_name(each, passage) for each in (one, other)]
    return SetQuery("", ", ".join(names), {documents.pop(): 1}, _apart([each.place for each in found]))


def numbered(queries: Sequence[SetQuery]) -> list[SetQuery]:
    return [
        SetQuery(f"q{number}", each.text, each.relevant, each.references)
        for number, each in enumerate(queries, 1)
    ]


def _name(concept: QuotedConcept, passage: str) -> str:
    """A name that the passage does not use, if there is one; else the label."""
    used = concept_name(passage)
    return next((each for each in concept.others if concept_name(each) not in used), concept.label)


def _words(label: str) -> set[str]:
    return set(concept_name(label).split())


def _apart(places: Sequence[Reference]) -> tuple[Reference, ...]:
    """Places that do not overlap: those that do are one."""
    found: list[Reference] = []
    for each in sorted(set(places), key=lambda place: (place.start, place.end)):
        last = found[-1] if found else None
        if last is not None and each.start < last.end:
            found[-1] = Reference(last.document, last.start, max(last.end, each.end))
        else:
            found.append(each)
    return tuple(found)
