"""What is meant by an end of a path: a concept's id, its name, or a phrase that one is looked for by."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from kg_api.errors import InvalidInput, NotFound
from kg_api.models.concepts import Concept, ConceptHit
from kg_api.models.identity import ID_DIGITS, concept_name
from kg_api.models.search import Degradation

CANDIDATES = 50
"""Hits of each end among which two of one ontology are looked for."""
ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")

Find = Callable[[str], Concept | None]
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

    Args:
        start: an id, a name or a phrase, as `end`.
        end: where the path ends.
        ontologies: where to look for names and phrases; None: everywhere.
        find: gives the concept of an id, if there is one.
        search: gives the concepts that fit a phrase, the best first.

    Raises:
        NotFound: no concept fits.
        InvalidInput: they are of two ontologies, which have no concept in common.
    """
    known = [find(text) if ID.fullmatch(text) else None for text in (start, end)]
    within = next(([each.ontology] for each in known if each is not None), ontologies)
    first, last = (
        [concept] if concept is not None else _candidates(text, within, search)
        for text, concept in zip((start, end), known, strict=True)
    )
    pairs = [(a, b) for a, b in product(first, last) if a.ontology == b.ontology]
    if not pairs:
        raise InvalidInput(
            f"{start!r} was found in {first[0].ontology!r} and {end!r} in {last[0].ontology!r}: concepts of "
            "two ontologies are not connected; name the ontology"
        )
    first_taken, last_taken = max(pairs, key=lambda pair: _fit((start, end), pair))
    return Ends(first_taken, last_taken, [*_told(start, first_taken), *_told(end, last_taken)])


def _candidates(text: str, within: Sequence[str] | None, search: Search) -> list[Concept]:
    found = search(text, within)
    if not found:
        raise NotFound(
            f"no concept fits {text!r}; `kg concept search` and `kg concept list` show those there are"
        )
    return [*found]


def _fit(texts: tuple[str, str], pair: tuple[Concept, Concept]) -> tuple[int, float]:
    """Being called so goes before all else."""
    named = sum(_is_called(text, concept) for text, concept in zip(texts, pair, strict=True))
    return named, sum(concept.score for concept in pair if isinstance(concept, ConceptHit))


def _is_called(text: str, concept: Concept) -> bool:
    names = {concept_name(name) for name in (concept.label, *concept.search_terms)}
    return text == concept.concept_id or concept_name(text) in names


def _told(text: str, concept: Concept) -> list[Degradation]:
    """Nothing where it was called by its name or id."""
    if _is_called(text, concept):
        return []
    effect = f"no concept is called {text!r}: {concept.label!r} was taken, which fits best"
    return [Degradation(part="concepts", effect=effect)]
