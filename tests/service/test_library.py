import json
from dataclasses import replace
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.vocabulary import KeyScope
from tests.service.asking import embedded, ingest
from tests.support.browsing import signed_in
from tests.support.embedding import run_jobs
from tests.support.evaluations import measured, save
from tests.support.many_vectors import give_vectors
from tests.support.records import record
from tests.support.routes import PAGED
from tests.support.running import Service
from tests.support.two_libraries import Libraries


def test_ontologies_are_listed_with_their_counts(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, "one", document="a", ontology="beta")
    embedded(graph, http, "two", document="b", ontology="beta")
    ingest(http, "three", document="a", ontology="alpha")
    same = {"stale": 0, "refused": 0, "space": "default", "building": False, "images": 0, "notes": []}
    one, two = {"languages": {"unknown": 1}, **same}, {"languages": {"unknown": 2}, **same}
    listed = http.get("/ontologies").json()["ontologies"]
    alpha, beta = (each.pop("created_at") for each in listed)
    assert beta < alpha
    assert alpha.endswith("Z")
    assert listed == [
        {"ontology": "alpha", "documents": 1, "sources": 1, "embedded": 0, "searchable": 0, **one},
        {"ontology": "beta", "documents": 2, "sources": 2, "embedded": 2, "searchable": 2, **two},
    ]


def test_document_returns_all_its_fields(http: httpx.Client) -> None:
    text = "# Leases\n\nA worker renews its lease.\n"
    stored = ingest(http, text, document="l.md", uri="file:///l.md", metadata={"n": 1})
    read = http.get(f"/documents/{stored['document_id']}").json()
    assert read.pop("updated_at").endswith("Z")
    assert read == {
        "document_id": stored["document_id"],
        "ontology": "notes",
        "document": "l.md",
        "title": "Leases",
        "uri": "file:///l.md",
        "format": "markdown",
        "characters": len(text),
        "sources": stored["sources"]["added"],
        "metadata": {"n": 1},
        "text": text,
    }


def test_second_page_continues_every_list(everything: httpx.Client, libraries: Libraries) -> None:
    """The log of changes may grow between the pages, and the test of its filters reads its second page."""
    filled = set[str]()
    for path in PAGED - {"/audit"}:
        route = path.replace("{ontology}", libraries.own.ontology)
        whole = everything.get(route).json()
        (rows,) = (name for name, each in whole.items() if isinstance(each, list) and name != "notes")
        assert whole["total"] == len(whole[rows]), path
        page = everything.get(route, params={"offset": 1, "limit": 1}).json()
        assert (page["total"], page["offset"], page["limit"]) == (whole["total"], 1, 1), path
        assert page[rows] == whole[rows][1:2], path
        filled |= {route.rsplit("/", 1)[-1]} if len(whole[rows]) > 1 else set()
    assert filled >= {"communities", "concepts", "documents", "images", "jobs", "proposals", "waiting"}


def test_jobs_are_paged_newest_first(http: httpx.Client, graph: Graph) -> None:
    ids = [ingest(http, "text", ontology=f"o{n}")["job_id"] for n in range(4)]
    run_jobs(graph)
    ids.append(ingest(http, "text", ontology="o4")["job_id"])
    pages = [http.get("/jobs", params={"offset": at, "limit": 3}).json() for at in (0, 3)]
    assert [job["job_id"] for page in pages for job in page["jobs"]] == ids[::-1]
    assert {page["total"] for page in pages} == {5}


def test_jobs_are_filtered(http: httpx.Client, graph: Graph) -> None:
    for number in (0, 1):
        ingest(http, "text", ontology=f"o{number}")
    run_jobs(graph)
    ingest(http, "text", ontology="o2")
    counts: dict[str, int] = {
        "": 3,
        "state=queued": 1,
        "state=succeeded": 2,
        "state=completed": 2,
        "state=failed": 0,
        "ontology=o1": 1,
        "ontology=o1&state=queued": 0,
        "kind=source_embedding": 3,
        "kind=backfill": 0,
    }
    for asked, count in counts.items():
        page = http.get(f"/jobs?{asked}").json()
        assert (page["total"], len(page["jobs"])) == (count, count), asked


QUESTION = "how are herons ringed?"
TEXT = "# Rings\n\nHerons are ringed in June.\n\n# Boats\n\nBoats are painted in May.\n"


def test_invalid_judgement_is_rejected(http: httpx.Client, kg: KgClient) -> None:
    ingest(http, TEXT, "birds.md")
    ingest(http, "elsewhere", "b.md", "other")
    with pytest.raises(NotFound, match=r"has no passage .b\.md#0."):
        kg.judge("notes", question=QUESTION, source_id="b.md#0", relevance=1)
    with pytest.raises(NotFound, match="no paragraph 9"):
        kg.judge("notes", question=QUESTION, source_id="birds.md#9", relevance=1)
    with pytest.raises(InvalidInput, match="question"):
        kg.judge("notes", question=" ", source_id="birds.md#0", relevance=1)
    for relevance in (-1, 3):
        with pytest.raises(InvalidInput, match="relevance"):
            kg.judge("notes", question=QUESTION, source_id="birds.md#0", relevance=relevance)
    assert http.get("/ontologies/notes/judgements", params={"question": " "}).status_code == 422
    with pytest.raises(NotFound, match="ontology 'note' not found"):
        kg.judgements("note")


def store(graph: Graph, driver: neo4j.Driver, count: int = 40) -> list[str]:
    made = record("apart.md", [f"Passage {at}." for at in range(count)])
    store_document(graph, replace(made, metadata=json.dumps({"date": ["2025-03", "2024"]})))
    ids = [each.source_id for each in made.sources]
    give_vectors(driver, ids)
    return ids


def test_large_ontology_is_sampled_and_reported(kg: KgClient, graph: Graph, driver: neo4j.Driver) -> None:
    ids = store(graph, driver)
    found = kg.passage_map("notes", limit=10)
    assert found.source_ids == sorted(ids)[:10]
    assert found.total == 40
    (told,) = found.degraded
    assert told.effect.startswith("10 of 40 passages, sampled at random")


@pytest.mark.parametrize(
    ("scope", "ontologies", "sees"),
    [("read", None, False), ("write", None, False), ("admin", ["bees"], False), ("admin", None, True)],
)
def test_only_unrestricted_administrators_see_the_machine(
    kg: KgClient,
    service: Service,
    evaluations: Path,
    scope: KeyScope,
    ontologies: list[str] | None,
    *,
    sees: bool,
) -> None:
    made = measured("text", [1], ontology="bees", machine={"system": "Linux-of-mine"})
    save(evaluations, "here", made)
    key = kg.create_key("ada", scope=scope, ontologies=ontologies).key
    with signed_in(service, key) as pages:
        answer = pages.get("/ui/evaluations/one/here")
    assert (answer.status_code, "Linux-of-mine" in answer.text) == (200, sees)
