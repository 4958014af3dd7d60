from __future__ import annotations

from kg_api.search.plan.notes import describe_concept_degradations
from kg_api.search.plan.query_vector import QueryVector
from kg_api.search.plan.scope import Scope
from tests.unit.search.found import SPACE


def test_without_a_vector_concepts_are_looked_for_by_name() -> None:
    vectors = [QueryVector(SPACE, None, usable=False, fault="it is down")]
    (told,) = describe_concept_degradations(Scope([], {}, []), vectors)
    assert told.part == "embedding"
    assert told.effect == "the question could not be embedded (it is down): looked for by name only"


def test_what_was_done_as_asked_is_not_told() -> None:
    assert describe_concept_degradations(Scope([], {}, []), [QueryVector(SPACE, None, usable=False)]) == []


def test_unknown_ontologies_are_told() -> None:
    (told,) = describe_concept_degradations(Scope([], {}, [], wanted=["nowhere"]), [])
    assert "'nowhere'" in told.effect
