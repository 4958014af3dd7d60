from __future__ import annotations

from kg_api.graph.spaces import Space
from kg_api.models.spaces import SpaceIdentity
from kg_api.search.degraded import tell_of_concepts
from kg_api.search.query_vector import QueryVector
from kg_api.search.scope import Scope

SPACE = Space(
    "default",
    SpaceIdentity(
        provider="deterministic",
        model="words",
        revision="",
        dimensions=3,
        max_tokens=9,
        query_prefix="",
        passage_prefix="",
    ),
)


def test_without_a_vector_concepts_are_looked_for_by_name() -> None:
    vectors = [QueryVector(SPACE, None, usable=False, fault="it is down")]
    (told,) = tell_of_concepts(Scope([], {}, []), vectors)
    assert told.part == "embedding"
    assert told.effect == "the question could not be embedded (it is down): looked for by name only"


def test_what_was_done_as_asked_is_not_told() -> None:
    assert tell_of_concepts(Scope([], {}, []), [QueryVector(SPACE, None, usable=False)]) == []


def test_unknown_ontologies_are_told() -> None:
    (told,) = tell_of_concepts(Scope([], {}, [], unknown=["nowhere"]), [])
    assert "'nowhere'" in told.effect
