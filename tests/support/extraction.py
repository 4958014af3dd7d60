import json
import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import neo4j

from kg_api.extraction.llm import ExtractionRequests, Extractors
from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import read_extractions, write_extraction
from kg_api.graph.jobs import EXTRACTION
from kg_api.jobs.backfill import Backfill
from kg_api.jobs.extraction import ConceptExtraction
from kg_api.jobs.runner import Runner
from kg_api.schemas.concepts import ExtractionConfig
from kg_api.schemas.operations import Job
from kg_api.sections import ConceptsSettings
from kg_api.settings import Settings, WorkerSettings
from kg_api.spaces.configuration import ExtractionService
from tests.support.cypher import rows
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import asked, llm_settings

NAMES = [f"Person{number}" for number in range(20)]
PARAGRAPHS = [f"In the year {1900 + at} the engineer {name} met Ada." for at, name in enumerate(NAMES)]
PRICES: dict[str, Any] = {"price_input": 2, "price_output": 8}


def settings_of(server: EmbeddingServer, *, budget: float | None = None, **llm: Any) -> Settings:
    """Return settings to use the language model on the server as the default extractor."""
    settings = llm_settings(server, **{"timeout_seconds": 5, **PRICES, **llm})
    return settings.model_copy(update={"concepts": ConceptsSettings(extractor="llm", budget=budget)})


def concept(label: str, quote: str, **more: Any) -> dict[str, Any]:
    known = {"label": label, "description": f"What {label} is.", "search_terms": [], "quotes": [quote]}
    return {**known, "confidence": 0.9, **more}


def concepts_of(text: str) -> list[dict[str, Any]]:
    words = [word.strip(".,:;") for word in text.split()]
    labels = dict.fromkeys(word for word in words[1:] if word[:1].isupper())
    return [concept(label, text.strip()[:200]) for label in labels]


def relations_of(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    labels = [each["label"] for each in found]
    return [
        {"subject": one, "type": "has to do with", "object": other, "confidence": 0.8}
        for one, other in pairwise(labels)
    ]


def entry_of(passage: dict[str, Any]) -> dict[str, Any]:
    found = concepts_of(passage["text"])
    return {"id": passage["id"], "concepts": found, "relations": relations_of(found)}


def extract_concepts(body: dict[str, Any]) -> str:
    return json.dumps({"passages": [entry_of(each) for each in asked(body)["passages"]]})


def texts_asked(server: EmbeddingServer) -> list[list[str]]:
    return [[each["text"] for each in asked(request)["passages"]] for request in server.requests]


def configure_extraction(graph: Graph, ontology: str = "notes", **config: Any) -> None:
    graph.transaction(lambda tx: write_extraction(tx, ontology, ExtractionConfig(**config)))


def run_extraction(graph: Graph, settings: Settings, *, wake: bool = True, batch: int = 64) -> int:
    extractors = Extractors(graph, settings)
    requests = ExtractionRequests(graph, extractors)
    handlers = [ConceptExtraction(graph, extractors, batch), Backfill(graph, 1000, requests)]
    runner = Runner(graph, handlers, WorkerSettings(), worker="test", stopping=threading.Event())
    if wake:
        for stored in read_extractions(graph):
            requests.start_pending(stored)
    ran = 0
    while runner.run_one():
        ran += 1
    extractors.close()
    return ran


def evidence(driver: neo4j.Driver) -> list[dict[str, Any]]:
    return rows(
        driver,
        """MATCH (c:Concept)-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s:Source)
        RETURN c.label AS label, i.quote AS quote, s.full_text AS text, s.document AS document,
               substring(s.full_text, i.start, i.end - i.start) AS there, i.score AS score
        ORDER BY document, label, text, i.start""",
    )


def labels(driver: neo4j.Driver) -> list[str]:
    return [row["label"] for row in rows(driver, "MATCH (c:Concept) RETURN c.label AS label ORDER BY label")]


def spent(driver: neo4j.Driver, ontology: str = "notes") -> float:
    found = rows(driver, "MATCH (o:Ontology {name: $name}) RETURN o.extraction_spent AS spent", name=ontology)
    return found[0]["spent"] or 0.0


def service_of(graph: Graph, settings: Settings) -> ExtractionService:
    extractors = Extractors(graph, settings)
    return ExtractionService(graph, extractors, ExtractionRequests(graph, extractors))


def the_job(graph: Graph) -> Job:
    return jobs.read_jobs_page(graph, state=None, kind=EXTRACTION, ontology=None, offset=0, limit=1)[0][0]
