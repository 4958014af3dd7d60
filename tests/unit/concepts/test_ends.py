from __future__ import annotations

from collections.abc import Sequence

import pytest

from kg_api.concepts.ends import both_ends
from kg_api.errors import InvalidInput, NotFound
from kg_api.models.concepts import Concept, ConceptHit

ID = "a" * 32


def hit(label: str, ontology: str = "notes", score: float = 1.0, terms: Sequence[str] = ()) -> ConceptHit:
    return ConceptHit(
        concept_id=f"{ontology}/{label}",
        ontology=ontology,
        label=label,
        description="",
        search_terms=list(terms),
        sources=1,
        similarity=None,
        score=score,
    )


def ends(start: str, end: str, *hits: ConceptHit) -> tuple[str, str, list[str]]:
    """Every phrase finds all hits."""

    def search(_: str, within: Sequence[str] | None) -> list[ConceptHit]:
        return [each for each in hits if within is None or each.ontology in within]

    def find(identity: str) -> Concept | None:
        return hit("known", "of the id") if identity == ID else None

    found = both_ends(start, end, None, find, search)
    return found.start.concept_id, found.end.concept_id, [each.effect for each in found.degraded]


def test_a_name_goes_before_what_fits_better() -> None:
    found = ends("Lease!", "tenancy", hit("other", score=9), hit("lease"), hit("right", terms=["Tenancy"]))
    assert found == ("notes/lease", "notes/right", [])


def test_a_phrase_is_taken_for_what_fits_best_and_it_is_told() -> None:
    first, _, told = ends("what is it", "lease", hit("far", score=0.1), hit("near", score=0.9), hit("lease"))
    assert first in {"notes/near", "notes/lease"}
    assert "no concept is called 'what is it'" in told[0]


def test_both_ends_are_of_one_ontology() -> None:
    found = ends("lease", "retry", hit("lease", "a", 9), hit("lease", "b"), hit("retry", "b"))
    assert found == ("b/lease", "b/retry", [])
    with pytest.raises(NotFound, match="no concept fits 'retry'"):
        ends(ID, "retry", hit("retry", "b"))
    with pytest.raises(InvalidInput, match="two ontologies"):
        both_ends(
            "lease",
            "retry",
            None,
            lambda _: None,
            lambda text, _: [hit(text, "a" if text == "lease" else "b")],
        )


def test_an_id_that_is_not_there_is_looked_for_as_words() -> None:
    with pytest.raises(NotFound, match="kg concept search"):
        ends("b" * 32, "lease")
