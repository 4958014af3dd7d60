from typing import Any

import httpx
import pytest

from kg_api.graph.client import Graph
from tests.service.asking import Json, embedded, problem
from tests.service.conftest import sharing

SUBJECTS = {
    "leases": "A worker renews its lease every ten seconds; one that is lost goes to another worker.",
    "bread": "Bread needs flour, water, salt and time; the dough rests overnight before it is baked.",
    "bees": "Bees dance to tell the others where flowers are, and honey is what they make of nectar.",
}
FILLER = "Nothing of all this is about anything in particular, it only fills the space between. " * 12


def store_subjects(graph: Graph, url: str) -> None:
    with httpx.Client(base_url=url, timeout=60) as http:
        for name, text in SUBJECTS.items():
            embedded(graph, http, f"# {name}\n\n{text}\n", document=f"{name}.md", ontology="handbook")


shared = sharing(store_subjects)


def long_text(*names: str) -> str:
    return "\n\n".join(f"{SUBJECTS[name]}\n\n{FILLER}" for name in names)


def augment(http: httpx.Client, text: str | None = None, **options: Any) -> Json:
    asked = options if text is None else {"text": text, **options}
    response = http.post("/queries/augment", json=asked)
    assert response.status_code == 200, response.text
    answer = response.json()
    counts = answer["counts"]
    lost = (
        *("below_similarity", "without_vector", "beyond_per_piece", "found_again", "duplicates"),
        *("beyond_per_document", "beyond_limit", "beyond_budget", "records"),
    )
    assert counts["candidates"] == sum(counts[name] for name in lost)
    assert counts["records"] == len(answer["records"])
    return answer


def documents(answer: Json) -> list[str]:
    return [record["document"] for record in answer["records"]]


SMALL: Json = {"chunk_tokens": 64, "overlap_tokens": 0, "min_similarity": 0.3}


@pytest.mark.usefixtures("shared")
def test_each_piece_of_long_text_finds_its_passage(http: httpx.Client) -> None:
    answer = augment(http, long_text("bees", "leases"), **SMALL)
    assert sorted(documents(answer)) == ["bees.md", "leases.md"]
    assert answer["counts"]["pieces"] == answer["counts"]["searches"] == len(answer["pieces"]) > 4
    assert all(piece["tokens"] <= 64 for piece in answer["pieces"])
    for record in answer["records"]:
        best = answer["pieces"][record["pieces"][0] - 1]
        assert (
            SUBJECTS[record["document"][:-3]][:30] in long_text("bees", "leases")[best["start"] : best["end"]]
        )
        assert record["similarity"] >= 0.3
    assert answer["order"] == "similarity"
    assert {"total", "cut", "search", "select"} <= answer["timings_ms"].keys()


@pytest.mark.usefixtures("shared")
def test_the_citations_of_the_context_resolve(http: httpx.Client) -> None:
    answer = augment(http, SUBJECTS["bread"], min_similarity=0.3)
    (record,) = answer["records"]
    assert answer["context"].startswith("### 1. handbook / bread.md > bread\n\n")
    assert f"[{record['citation']}]" in answer["context"]
    assert f"> {SUBJECTS['bread']}" in answer["context"]
    source, _, place = record["citation"].partition("#")
    start, end = map(int, place.split("-"))
    document = http.get(f"/documents/{record['document_id']}").json()["text"]
    assert document[start:end] == record["text"]
    assert http.get(f"/sources/{source}").json()["full_text"] == record["full_text"]
    assert answer["context_tokens"] == record["tokens"] > 10
    assert answer["tokens_estimated"] is False


def test_text_is_limited_by_request_size(http: httpx.Client) -> None:
    problem(http.post("/queries/augment", json={"text": "word " * 300_000}), 413)
