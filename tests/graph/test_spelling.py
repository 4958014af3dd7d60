from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.fulltext import write_synonyms
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.search.service import SearchService
from kg_api.spaces.registry import SpaceRegistry
from tests.conftest import Stored
from tests.support.embedders import small_embedder
from tests.support.records import record


@contextmanager
def store_words(graph: Graph) -> Generator[SearchService]:
    ensure_space(graph, small_embedder().identity)
    for ontology, texts in {"a": TEXTS, "b": ["the zeppelin"]}.items():
        store_document(graph, record("d", texts, ontology))
    service = SearchService(graph, SpaceRegistry(graph, lambda _: small_embedder()))
    yield service
    service.close()


@pytest.fixture
def search(stored: Stored, migrated_graph: Graph) -> SearchService:
    return stored.give(store_words, migrated_graph)


TEXTS = [
    "Kürbis Kartoffeln Lauch",
    "The configuration of kubernetes is long",
    "A resume is short",
    "Die Zwiebeln sind geschnitten",
    "Hier steht von anderem",
    "Das Gebäude und die Häuser sind mit dem Hof verbunden",
    "Crème brûlée in Bélizère",
    "Η Ελλάδα και η Μεγάλη Άρκτος",
    "nginx is a proxy",
]


def ask(search: SearchService, text: str, **more: object) -> SourceHits:
    asked = {"query_text": text, "mode": "text", "ontology": "a", **more}
    return search.search(SourceSearch.model_validate(asked))


@pytest.mark.parametrize(
    ("asked", "meant", "text"),
    [
        ("Kurbis", ["Kürbis"], TEXTS[0]),
        ("kubernetse", ["kubernetes"], TEXTS[1]),
        ("configuratoin", ["configuration"], TEXTS[1]),
        ("résumé", ["resume"], TEXTS[2]),
        ("proxy of ngin", ["nginx"], TEXTS[-1]),
        ("brulee", ["brûlée"], TEXTS[6]),
        ("Belizere", ["Bélizère"], TEXTS[6]),
        ("αρκτος", ["Άρκτος"], TEXTS[7]),
    ],
)
def test_misspelt_word_is_corrected_and_reported(
    search: SearchService, asked: str, meant: list[str], text: str
) -> None:
    answer = ask(search, asked)
    assert [hit.full_text.strip() for hit in answer.sources] == [text]
    assert [(each.word, each.meant) for each in answer.did_you_mean] == [(asked.lower().split()[-1], meant)]
    assert [(each.part, meant[0] in each.effect) for each in answer.degraded] == [("spelling", True)]


def test_repeated_lookups_use_corrected_words(search: SearchService, graph: Graph) -> None:
    """The best 210 hits are from one document, and only one of them is needed. It takes two more queries
    to find another document."""
    store_document(graph, record("many", ["restaurant"] * 210, "c"))
    store_document(graph, record("one", ["The restaurant stands at the end of a long street of houses"], "c"))
    answer = ask(search, "resturant", ontology="c", per_document=1)
    assert [hit.document for hit in answer.sources] == ["many", "one"]


@pytest.mark.parametrize("asked", ["Kürbis", "running kubernetes", "a~ kubernetes~1", "zqxwvut", "short*"])
def test_known_and_unmatched_words_are_not_corrected(search: SearchService, asked: str) -> None:
    answer = ask(search, asked)
    assert (answer.did_you_mean, answer.degraded) == ([], [])


def test_corrections_come_only_from_searched_ontologies(search: SearchService) -> None:
    assert ask(search, "zepelin").sources == []
    assert [hit.ontology for hit in ask(search, "zepelin", ontology=["a", "b"]).sources] == ["b"]


def test_keyword_finds_inflections_of_the_text_language(search: SearchService) -> None:
    for asked in ("Haus", "Gebaude", "wo ist das Haus mit dem Hof"):
        answer = ask(search, asked)
        assert answer.sources[0].full_text.strip() == TEXTS[5]
        assert (answer.did_you_mean, answer.degraded) == ([], [])
    assert ask(search, "Zwiebel").sources[0].full_text.strip() == TEXTS[3]


def test_synonyms_rank_behind_the_exact_word(graph: Graph, search: SearchService) -> None:
    groups = [["k8s", "kubernetes"], ["brief", "short"]]
    graph.transaction(lambda tx: write_synonyms(tx, "a", groups))
    answer = ask(search, "k8s configuration")
    assert [hit.full_text.strip() for hit in answer.sources] == [TEXTS[1]]
    assert ask(search, "k8s", ontology="b").sources == [], "each ontology has its own"


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("kube", TEXTS[1]),
        ("a long configurati", TEXTS[1]),  # the index contains `configur`
        ("Kürb", TEXTS[0]),
        ("Zwieb", TEXTS[3]),
    ],
)
def test_unfinished_word_finds_and_marks_its_continuations(
    search: SearchService, typed: str, text: str
) -> None:
    (found,) = ask(search, typed, prefix=True).sources
    assert found.full_text.strip() == text
    assert found.matches


@pytest.mark.parametrize("typed", ["kubernetis", "kgo", "kg", "zz", "a"])
def test_unfinished_word_is_not_corrected(search: SearchService, typed: str) -> None:
    found = ask(search, typed, prefix=True)
    assert (found.sources, found.did_you_mean, found.degraded) == ([], [], [])


def test_finished_words_of_typed_text_are_corrected(search: SearchService) -> None:
    found = ask(search, "kubernetis prox", prefix=True)
    assert [each.word for each in found.did_you_mean] == ["kubernetis"]
    assert {each.full_text.strip() for each in found.sources} == {TEXTS[1], TEXTS[8]}


def test_word_before_a_space_is_finished(search: SearchService) -> None:
    assert ask(search, "kube zzz", prefix=True).sources == []
