from __future__ import annotations

from kg_api.schemas.search import Degradation
from kg_api.search.plan import describe_concept_degradations
from kg_api.search.question import QueryVector
from kg_api.search.scope import Scope
from tests.unit.search.found import SPACE


def test_without_a_vector_concepts_are_looked_for_by_name() -> None:
    vectors = [QueryVector(SPACE, None, usable=False, fault="it is down")]
    (told,) = describe_concept_degradations(Scope([], {}, []), vectors)
    assert told.part == "embedding"
    assert told.effect == "the question could not be embedded (it is down): looked for by name only"


def test_what_was_done_as_asked_is_not_told() -> None:
    assert describe_concept_degradations(Scope([], {}, []), [QueryVector(SPACE, None, usable=False)]) == []


def test_what_is_unknown_is_told_first() -> None:
    unknown = Degradation(part="query", effect="there is no ontology 'nowhere'")
    assert describe_concept_degradations(Scope([], {}, [], unknown=[unknown]), []) == [unknown]
