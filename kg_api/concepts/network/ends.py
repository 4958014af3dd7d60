"""What is meant by an end of a path: a concept's id, its name, or a phrase that one is looked for by."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from kg_api.errors import InvalidInput, NotFound
from kg_api.models.concepts.queries import Concept, ConceptHit, nearest_labels
from kg_api.models.identity import ID_DIGITS
from kg_api.models.queries.search import Degradation

CANDIDATES = 50
"""Hits of each end among which two of one ontology are looked for."""
MAX_SHOWN = 3
ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")

Find = Callable[[str], Concept]
Search = Callable[[str, Sequence[str] | None], Sequence[ConceptHit]]


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of a path, of one ontology."""

    start: Concept
    end: Concept
    degraded: list[Degradation]
    """What was taken for a phrase."""


def both_ends(start: str, end: str, ontologies: Sequence[str] | None, find: Find, search: Search) -> Ends:
    """Work out which concepts are meant.

    An id or a name means what it says, in whatever ontologies that is; a phrase is looked for beside it.

    Args:
        start: an id, a name or a phrase, as `end`.
        end: where the path ends.
        ontologies: where to look for names and phrases; None: everywhere.
        find: gives the concept of an id, or raises NotFound.
        search: gives the concepts that a phrase finds, the best first.

    Raises:
        NotFound: no concept fits, or has the id.
        InvalidInput: they are of two ontologies, which have no concept in common.
    """
    sure = [_sure(text, ontologies, find, search) for text in (start, end)]
    first = sure[0] or _fitting(start, _ontologies_of(sure[1]) or ontologies, search)
    last = sure[1] or _fitting(end, _ontologies_of(sure[0]) or ontologies, search)
    pairs = [(a, b) for a, b in product(first, last) if a.ontology == b.ontology]
    if not pairs:
        raise InvalidInput(
            f"{_where(start, first)} and {_where(end, last)}: concepts of two ontologies are not connected; "
            "both ends must be of one ontology"
        )
    first_taken, last_taken = max(pairs, key=_score)
    return Ends(
        first_taken, last_taken, [*_describe_match(start, first_taken), *_describe_match(end, last_taken)]
    )


def _sure(text: str, ontologies: Sequence[str] | None, find: Find, search: Search) -> list[Concept]:
    """What has the id, or goes by the very name."""
    if ID.fullmatch(text):
        return [find(text)]
    return [each for each in search(text, ontologies) if each.fits == "name"]


def _fitting(text: str, within: Sequence[str] | None, search: Search) -> list[Concept]:
    found = search(text, within)
    fitting: list[Concept] = [each for each in found if each.fits]
    if not fitting:
        raise NotFound(
            f"no concept fits {text!r}{nearest_labels(found)}; "
            "`kg concept search` and `kg concept list` show the existing ones"
        )
    return fitting


def _ontologies_of(concepts: Sequence[Concept]) -> list[str]:
    return list(dict.fromkeys(each.ontology for each in concepts))


def _where(text: str, concepts: Sequence[Concept]) -> str:
    label = text if not ID.fullmatch(text) else concepts[0].label
    return f"{label!r} is in {', '.join(map(repr, _ontologies_of(concepts)[:MAX_SHOWN]))}"


def _score(pair: tuple[Concept, Concept]) -> float:
    return sum(concept.score for concept in pair if isinstance(concept, ConceptHit))


def _describe_match(text: str, concept: Concept) -> list[Degradation]:
    """Nothing where it was called by its name or id."""
    if not isinstance(concept, ConceptHit) or concept.fits == "name":
        return []
    effect = f"no concept is called {text!r}: {concept.label!r} was taken, which fits best"
    return [Degradation(part="concepts", effect=effect)]
