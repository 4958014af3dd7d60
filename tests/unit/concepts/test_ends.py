from __future__ import annotations

from collections.abc import Sequence

import pytest

from kg_api.concepts.network import both_ends
from kg_api.errors import InvalidInput, NotFound
from kg_api.schemas.concepts import Concept, ConceptHit, Fits

ID = "a" * 32


def hit(label: str, ontology: str = "notes", score: float = 1.0, fits: Fits | None = "meaning") -> ConceptHit:
    return ConceptHit(
        concept_id=f"{ontology}/{label}",
        ontology=ontology,
        label=label,
        description="",
        search_terms=[],
        sources=1,
        similarity=None,
        score=score,
        fits=fits,
    )


def known(identity: str) -> Concept:
    """What has the one id there is."""
    if identity != ID:
        raise NotFound(f"there is no concept {identity!r}")
    return Concept(**hit("known", "of the id").model_dump(include=set(Concept.model_fields)))


def ends(
    start: str, end: str, *hits: ConceptHit, within: Sequence[str] | None = None
) -> tuple[str, str, list[str]]:
    """Every phrase finds all hits; what is called as it fits by its name."""

    def search(text: str, names: Sequence[str] | None) -> list[ConceptHit]:
        there = [each for each in hits if names is None or each.ontology in names]
        return [each.model_copy(update={"fits": "name"}) if each.label == text else each for each in there]

    found = both_ends(start, end, within, known, search)
    return found.start.concept_id, found.end.concept_id, [each.effect for each in found.degraded]


def test_a_name_goes_before_what_fits_better() -> None:
    assert ends("lease", "right", hit("other", score=9), hit("lease"), hit("right")) == (
        "notes/lease",
        "notes/right",
        [],
    )


def test_a_phrase_is_taken_for_what_fits_best_and_it_is_told() -> None:
    hits = hit("nearest", score=2, fits=None), hit("far", score=0.1), hit("near", score=0.9)
    first, last, told = ends("what is it", "lease", *hits, hit("lease", score=0.5))
    assert (first, last) == ("notes/near", "notes/lease")
    assert told == ["no concept is called 'what is it': 'near' was taken, which fits best"]


def test_what_is_only_the_nearest_is_not_taken_but_named() -> None:
    hits = [hit(label, fits=None) for label in ("one", "two", "two", "three", "four")]
    with pytest.raises(NotFound, match=r"no concept fits 'zzz' \(nearest: 'one', 'two', 'three'\); `kg"):
        ends("zzz", "zzz", *hits)


def test_both_ends_are_of_one_ontology() -> None:
    found = ends("lease", "retry", hit("lease", "a", 9), hit("lease", "b"), hit("retry", "b"))
    assert found == ("b/lease", "b/retry", [])
    first, last, _ = ends("what", "retry", hit("best", "a", 9), hit("good", "b"), hit("retry", "b"))
    assert (first, last) == ("b/good", "b/retry"), "a phrase is looked for where the name is"


@pytest.mark.parametrize("start", ["lease", ID])
def test_a_name_is_never_swapped_for_what_is_where_the_other_end_is(start: str) -> None:
    near = [hit("other", "x"), hit("more", "y"), hit("else", "of the id")]
    with pytest.raises(InvalidInput, match="both ends must be of one ontology") as caught:
        ends(start, "retry", hit("lease", "x"), hit("retry", "y"), *near)
    told = "'lease' is in 'x'" if start == "lease" else "'known' is in 'of the id'"
    assert str(caught.value).startswith(f"{told} and 'retry' is in 'y':")


def test_an_id_that_is_gone_is_not_found_whatever_fits() -> None:
    with pytest.raises(NotFound, match="there is no concept 'bbb"):
        ends("b" * 32, "lease", hit("lease"))
