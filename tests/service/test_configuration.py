import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.settings import load_settings
from tests.service.asking import embedded, ingest, problem
from tests.support.cypher import rows
from tests.support.embedding import configure_in_place, open_spaces, run_jobs
from tests.support.extraction import evidence, run_extraction


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"strategy": "nonsense"}, "'sentence', 'paragraph'"),
        ({"chunk_size": 1}, "from 20 to 2000"),
        ({"strategy": "count", "overlap": 200}, "at most 125"),
        ({"strategy": "sentence", "overlap": 3}, "no overlap"),
        ({"parent_size": 4000}, "no parents"),
        ({"space": "nowhere"}, "space 'nowhere' does not exist"),
        ({"space": "a`) MATCH (n) DETACH DELETE n //"}, "lower-case letters"),
        ({"context": "llm"}, "KG_LLM__MODEL"),
        ({"chunk_sise": 30}, "chunk_sise"),
        ({"embed_on_ingest": "no"}, "boolean"),
    ],
)
def test_invalid_configuration_is_rejected_unchanged(
    http: httpx.Client, config: dict[str, object], said: str
) -> None:
    ingest(http, "one")
    response = http.put("/ontologies/notes/embedding-config", json=config)
    problem(response, 422)
    assert said in response.text
    shown = http.get("/ontologies/notes/embedding-config").json()
    assert shown["config"]["strategy"] == "paragraph"


def test_missing_and_stale_are_embedded_separately(http: httpx.Client, kg: KgClient, graph: Graph) -> None:
    embedded(graph, http, "old text", document="old.txt")
    configure_in_place(graph, "notes", strategy="sentence", embed_on_ingest=False)
    ingest(http, "new text", document="new.txt")
    assert [
        kg.regenerate_embeddings(dry_run=True, selection=each).due for each in ("missing", "stale", "due")
    ] == [*(1, 1, 2)]
    kg.regenerate_embeddings("notes", selection="missing")
    run_jobs(graph)
    found = kg.embedding_status("notes")
    assert (found.embedded, found.missing, found.stale) == (1, 0, 1)
    (started,) = kg.regenerate_embeddings("notes", selection="stale").ontologies
    run_jobs(graph)
    assert kg.embedding_status("notes").embedded == 2
    job = kg.job(started.job_id or "")
    assert (job.selection, job.done, job.total) == ("stale", 1, 1)


TEXT = """Marie Curie discovered polonium and radium. Marie Curie received the Nobel Prize in Physics.

The Nobel Prize in Physics is given in Stockholm. Polonium is named after Poland.
"""


def job_kinds(driver: neo4j.Driver) -> list[str]:
    return [row["kind"] for row in rows(driver, "MATCH (j:Job) RETURN j.kind AS kind ORDER BY kind")]


def work(graph: Graph) -> None:
    open_spaces(graph)
    run_extraction(graph, load_settings(), wake=False)


def test_ingest_requests_extraction_without_waiting(kg: KgClient, graph: Graph, driver: neo4j.Driver) -> None:
    kg.ingest_text(TEXT, ontology="plain", document="a")
    assert job_kinds(driver) == ["source_embedding"], "the service's setting is none"
    kg.set_extraction_config("notes", extractor="keyphrase")
    kg.ingest_text(TEXT, ontology="notes", document="a")
    assert job_kinds(driver) == ["concept_extraction", "source_embedding", "source_embedding"]
    before = kg.extraction_config("notes")
    assert (before.total, before.due, before.extracted, before.concepts) == (1, 1, 0, 0)
    work(graph)
    after = kg.extraction_config("notes")
    assert (after.due, after.extracted, after.refused, after.spent) == (0, 1, 0, 0)
    assert after.concepts > 0
    assert after.quotes == len(evidence(driver)) > 0
    assert kg.extract_concepts("notes").job_id is None
    assert kg.extraction_rejected("notes").total == 0
    kg.ingest_text(TEXT, ontology="notes", document="a")
    assert job_kinds(driver).count("concept_extraction") == 1, "nothing changed"
