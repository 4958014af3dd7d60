from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter

from kg_api.graph.fulltext import SCOPES_A_QUERY, OntologyWords
from kg_api.graph.reach import limit_visible_ontologies
from kg_api.graph.search import Filters
from kg_api.schemas.filters import Clause, Where
from kg_api.schemas.search import Degradation
from kg_api.search import scope
from kg_api.search.scope import Chosen, Scope, SpaceScope, choose_documents, choose_sources
from kg_api.spaces.snapshot import OntologySnapshot
from tests.unit.search.found import SPACE

WHERE: TypeAdapter[list[Clause]] = TypeAdapter(Where)
UNKNOWN = Degradation(part="query", effect="unknown field")
NO_DOCUMENT, NO_PASSAGE = (
    "no document fits the conditions of the filter",
    "no passage fits the conditions of the filter",
)


def remembered(**matching: list[str]) -> Any:
    return SimpleNamespace(match=lambda *_: matching, describe_unknown_fields=lambda *_: [UNKNOWN])


def effects(chosen: Chosen) -> list[str]:
    return [each.effect for each in chosen.notes]


@pytest.mark.parametrize(
    ("matching", "within", "told"),
    [
        ({"notes": ["a", "b"]}, None, []),
        ({"notes": []}, None, [UNKNOWN.effect, NO_DOCUMENT]),
        ({}, ["c"], [UNKNOWN.effect, NO_DOCUMENT]),
        ({}, [], [UNKNOWN.effect]),
    ],
)
def test_filter_without_documents_is_reported(
    matching: dict[str, list[str]], within: list[str] | None, told: list[str]
) -> None:
    where = WHERE.validate_python(["year=2020"])
    chosen = choose_documents(remembered(**matching), where, Filters(["notes"], within))
    assert (chosen.filters.ontologies, chosen.filters.document_ids) == (["notes"], matching.get("notes", []))
    assert effects(chosen) == told


@pytest.mark.parametrize(
    ("where", "matching", "fitting", "told"),
    [
        (["page=3"], {}, ["a"], []),
        (["page=3"], {}, [], [UNKNOWN.effect, NO_PASSAGE]),
        (["page=3", "year=2020"], {"notes": ["a"]}, ["a"], []),
        (["page=3", "year=2020"], {"notes": ["a"]}, [], [UNKNOWN.effect, NO_PASSAGE]),
        (["page=3", "year=2020"], {}, None, [UNKNOWN.effect, NO_DOCUMENT]),
        (["page=3", "year=2020", "title does not exist"], {"notes": ["a"]}, [], [UNKNOWN.effect, NO_PASSAGE]),
    ],
)
def test_filter_without_passages_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
    where: list[str],
    matching: dict[str, list[str]],
    fitting: list[str] | None,
    told: list[str],
) -> None:
    def read(*_: object, **__: object) -> Sequence[str]:
        assert fitting is not None, "no document can have a passage"
        return fitting

    monkeypatch.setattr(scope, "list_matching_document_ids", read)
    unused: Any = None
    chosen = choose_sources(
        unused, remembered(**matching), WHERE.validate_python(where), Filters(["notes"], None)
    )
    assert effects(chosen) == told
    assert chosen.filters.document_ids == (matching.get("notes", []) if len(where) > 1 else None)
    assert chosen.filters.sources


def test_many_documents_are_filtered_behind_queries() -> None:
    few, many = ([f"{n}" for n in range(count)] for count in (SCOPES_A_QUERY, SCOPES_A_QUERY + 1))
    assert Chosen(Filters(None, few), {}).in_queries == few
    assert Chosen(Filters(None, few), {}).behind_queries is None
    assert Chosen(Filters(None, many), {}).in_queries is None
    assert Chosen(Filters(None, many), {}).behind_queries == many
    assert Chosen(Filters(None, many)).in_queries == many, "not found by a filter"


def test_a_model_queries_both_slots_of_its_space() -> None:
    second, other = replace(SPACE, slot="b"), replace(SPACE, slug="other")
    spaces = [SpaceScope(each, Filters(None, None)) for each in (SPACE, other, second)]
    found = Scope(spaces, {"notes": second.key}, [], answering={"notes": "default"}, new="other")
    assert found.list_indexes(SPACE) == [SPACE.index_name, second.index_name]
    assert (found.slugs, [each.key for each in found.models]) == (["default", "other"], ["default", "other"])
    assert (found.get_space("notes"), found.get_space("new"), found.get_key("notes")) == (
        "default",
        "other",
        "defaultb",
    )


def test_snapshot_shows_only_visible_ontologies() -> None:
    state: Any = None
    spanish = OntologyWords(synonyms=[["k8s", "kubernetes"]], language="es")
    whole = OntologySnapshot({"a": state, "b": state}, SPACE, words={"a": OntologyWords(), "b": spanish})
    assert whole.select_visible() == whole
    assert whole.get_languages(None) == {None, "es"}
    assert whole.select_synonyms(None) == whole.select_synonyms(["b"]) == [["k8s", "kubernetes"]]
    with limit_visible_ontologies(["a"]):
        seen = whole.select_visible()
    assert ([*seen.embedding_states], [*seen.words]) == (["a"], ["a"])
    assert (seen.get_languages(None), seen.select_synonyms(["b"])) == ({None}, [])
