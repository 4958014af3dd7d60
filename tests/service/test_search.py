from collections.abc import Generator
from contextlib import contextmanager

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.conftest import Stored
from tests.service.asking import Json, embedded, search, texts, vector
from tests.support.embedders import small_embedder
from tests.support.embedding import run_jobs
from tests.support.records import record

MODES = ["hybrid", "vector", "text"]
FRUIT = ["red apples on the tree", "green apples in a bowl", "blue plums in a jar", "a jar of honey"]


def store(graph: Graph, document: str, paragraphs: list[str], ontology: str = "notes") -> None:
    """Store a document with exactly these paragraphs, and embed it."""
    store_document(graph, record(document, paragraphs, ontology))
    run_jobs(graph)


@contextmanager
def store_fruit(graph: Graph) -> Generator[None]:
    store(graph, "fruit", FRUIT)
    yield


@pytest.fixture
def shared(stored: Stored, migrated_graph: Graph) -> None:
    stored.give(store_fruit, migrated_graph)


def cosine(query: str, text: str) -> float:
    embedder = small_embedder()
    return float(embedder.embed_query(query) @ embedder.embed_passages([text])[0])


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_finds_and_explains_the_passage(http: httpx.Client, mode: str) -> None:
    answer = search(http, "green apples in a bowl", mode=mode)
    first = answer["sources"][0]
    assert first["full_text"].strip() == FRUIT[1]
    assert (answer["mode"], answer["degraded"]) == (mode, [])
    assert answer["space"] == (None if mode == "text" else "default")
    asked = {"hybrid": {"vector", "text"}, "vector": {"vector"}, "text": {"text"}}[mode]
    assert {lane for lane, rank in first["ranks"].items() if rank} == asked
    assert (first["similarity"] is None) == (mode == "text")
    assert {"total", "embed", "retrieve"} <= answer["timings_ms"].keys() | {"embed"}


@pytest.mark.usefixtures("shared")
def test_similarity_is_the_exact_cosine_in_every_mode(http: httpx.Client) -> None:
    query = "apples in a jar"
    for mode in ("hybrid", "vector"):
        hits = search(http, query, mode=mode)["sources"]
        assert len(hits) == len(FRUIT)
        for hit in hits:
            assert hit["similarity"] == pytest.approx(cosine(query, hit["full_text"].strip()), abs=1e-5)


@pytest.mark.usefixtures("shared")
def test_query_vector_equals_the_embedded_question(http: httpx.Client) -> None:
    values = [float(x) for x in small_embedder().embed_query("green apples") * 7]
    own, asked = search(http, **vector(values)), search(http, "green apples", mode="vector")
    assert texts(own) == texts(asked)
    assert (own["query_text"], own["space"]) == (None, "default")
    both = search(http, **vector(values, query_text="honey", mode="hybrid"))
    assert {*texts(both)} == {*FRUIT}
    words = search(http, **vector(values, query_text="honey", mode="text"))
    assert (words["mode"], texts(words)) == ("text", [FRUIT[3]])
    assert words["sources"][0]["similarity"] == pytest.approx(cosine("green apples", FRUIT[3]), abs=1e-5)


TEXT = (
    "Preface 🦊 stands before.\r\n\r\n# Ünder 𝕏\r\n\r\n"
    + "\r\n\r\n".join(f"Fox {n} 🦊 runs {'over the hill ' * 40}end." for n in range(3))
    + "\r\n\r\n## Deeper\r\n\r\n- one fox\r\n- two foxes\r\n\r\n```\nfox()\n```\r\n"
)


@pytest.mark.parametrize("mode", MODES)
def test_a_hit_says_its_exact_place(http: httpx.Client, graph: Graph, mode: str) -> None:
    stored = embedded(graph, http, TEXT, document="fox.md")
    text = http.get(f"/documents/{stored['document_id']}").json()["text"]
    assert text == TEXT
    hits = search(http, "fox runs over the hill", mode=mode)["sources"]
    assert len(hits) >= 4
    for hit in hits:
        assert text[hit["start"] : hit["end"]] == hit["full_text"]
        chunk = hit["chunk"]
        assert text[chunk["start"] : chunk["end"]] == chunk["text"] == hit["full_text"].strip()
        assert (hit["ontology"], hit["document"]) == ("notes", "fox.md")
    under = [hit["heading"] for hit in hits if "hill" in hit["full_text"]]
    assert under == [["Ünder 𝕏"]] * 3
    assert [] not in [hit["heading"] for hit in hits if "one fox" in hit["full_text"]]


def places(sources: list[Json]) -> list[tuple[str, int]]:
    return [(each["document"], each["paragraph"]) for each in sources]


def test_context_contains_neighbours_of_the_same_document(http: httpx.Client, graph: Graph) -> None:
    for name in ("a", "b"):
        store(graph, name, [f"{name} number {n}" for n in range(6)])
    hit = search(http, "a number 4", mode="text", documents=["a"], limit=1, expand_context=True)["sources"][0]
    assert places([hit]) == [("a", 4)]
    assert places(hit["context"]) == [("a", 2), ("a", 3), ("a", 4), ("a", 5)]
    read = http.get(f"/sources/{hit['source_id']}/context").json()
    assert (read["window_size"], read["sources"]) == (2, hit["context"])


def test_hit_marks_positions_of_query_words(http: httpx.Client, graph: Graph, kg: KgClient) -> None:
    store(graph, "rota", ["Intro.", "  Only Ada is on call; calls go on to Bob."])
    hit = search(http, "who is on call", mode="text")["sources"][0]
    said = [hit["full_text"][each["start"] : each["end"]] for each in hit["matches"]]
    assert said == ["is on call", "calls"]
    document = http.get(f"/documents/{hit['document_id']}").json()["text"]
    places = [(hit["start"] + each["start"], hit["start"] + each["end"]) for each in hit["matches"]]
    assert [document[start:end] for start, end in places] == said
    (found,) = kg.hybrid_search("who is on call", source_limit=1).sources
    assert [each.model_dump() for each in found.matches] == hit["matches"]
    (record,) = kg.augment("who is on call", mode="text").records
    assert [each.model_dump() for each in record.matches] == hit["matches"]
    asked = small_embedder().embed_query("calls").tolist()
    (other, *_) = search(http, **vector(asked, limit=1))["sources"]
    assert other["matches"] == [], "there is no word to mark"


@pytest.mark.parametrize("fusion", ["adaptive", "rrf", "weighted"])
@pytest.mark.usefixtures("shared")
def test_an_explanation_adds_up_to_the_score(http: httpx.Client, fusion: str) -> None:
    answer = search(http, "green apples in a jar", fusion=fusion, explain=True)
    for number, hit in enumerate(answer["sources"], start=1):
        told = hit["explanation"]
        assert told["fusion"] == fusion
        assert sum(part["contribution"] for part in told["lanes"]) == pytest.approx(hit["score"])
        assert told["fused_rank"] == number
        by_lane = {part["lane"]: part for part in told["lanes"]}
        assert {part["index"] for part in told["lanes"]} <= {"source_words", "passage_embedding"}
        assert by_lane.get("text", {"rank": None})["rank"] == hit["ranks"]["text"]
    assert {"embed", "retrieve", "fuse", "tell", "total"} <= answer["timings_ms"].keys()
