from __future__ import annotations

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.schemas.concepts import ExtractionConfig
from kg_api.settings import load_settings
from tests.support.cypher import rows
from tests.support.embedding import open_spaces
from tests.support.extraction import evidence, run_extraction

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


def test_a_dry_run_changes_nothing(kg: KgClient, driver: neo4j.Driver) -> None:
    kg.ingest_text(TEXT, ontology="notes", document="a")
    told = kg.set_extraction_config("notes", dry_run=True, extractor="keyphrase", per_source=3)
    assert (told.applied, told.used.extractor, told.used.per_source, told.due) == (False, "keyphrase", 3, 1)
    assert told.cost is not None
    assert (told.cost.sources, told.cost.requests, told.cost.price) == (1, 0, 0)
    assert kg.extraction_config("notes").config == ExtractionConfig()
    assert "concept_extraction" not in job_kinds(driver)


def test_null_configuration_restores_the_default_setting(kg: KgClient) -> None:
    made = kg.set_extraction_config("new", extractor="keyphrase", per_source=9, budget=2.5)
    assert made.used.model_dump() == {"extractor": "keyphrase", "per_source": 9, "budget": 2.5}
    made = kg.set_extraction_config("new", extractor=None, per_source=None, budget=None)
    assert made.config == ExtractionConfig()
    assert made.used.model_dump() == {"extractor": "none", "per_source": 6, "budget": None}
    with pytest.raises(InvalidInput, match="concept extraction is off"):
        kg.extract_concepts("new")


def test_missing_language_model_is_rejected(kg: KgClient) -> None:
    with pytest.raises(InvalidInput, match="KG_LLM__MODEL"):
        kg.set_extraction_config("notes", extractor="llm")
    with pytest.raises(NotFound):
        kg.extraction_config("notes")


def test_unknown_ontology_is_not_found(kg: KgClient) -> None:
    for call in (kg.extraction_config, kg.extract_concepts, kg.extraction_rejected):
        with pytest.raises(NotFound):
            call("none")
