from collections.abc import Mapping, Sequence

import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.base import build_concept_id, build_concept_text
from kg_api.schemas.concepts import ExtractedConcept, ExtractedRelation
from kg_api.schemas.documents import DocumentRecord
from tests.support.concepts import extraction, found, quote, write
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.embedding import run_jobs
from tests.support.records import record

Triple = tuple[str, str, str]

BEES = ["Bees dance.", "The waggle dance shows the way.", "Karl von Frisch saw the waggle dance.", "The end."]
ADA = "Ada Lovelace wrote notes on the Analytical Engine."
BABBAGE = "Charles Babbage designed the Analytical Engine in London."
THAMES = "London lies on the Thames."
BIRDS = "Herons stand in the water."
LIVES = [ADA, "Nothing here.", BABBAGE, "Nothing there.", "Nothing at all.", THAMES, BIRDS]
ENGINE = found(
    "Analytical Engine",
    quote(ADA, "Analytical Engine"),
    description="a mechanical computer",
    search_terms=("Babbage machine",),
)


def store_concepts(
    graph: Graph,
    document: DocumentRecord,
    labels: Mapping[int, Sequence[str | ExtractedConcept]],
    triples: Mapping[int, Sequence[Triple]] | None = None,
) -> dict[str, str]:
    """Store a document with concepts and relationships in its paragraphs, and return the ids by label. If
    a label is in the text, it is used as a quote."""
    store_document(graph, document)
    extractions = [
        extraction(
            document,
            at,
            *(_found(source.full_text, label) for label in labels.get(at, ())),
            relations=tuple(ExtractedRelation(*triple) for triple in (triples or {}).get(at, ())),
        )
        for at, source in enumerate(document.sources)
    ]
    write(graph, *extractions, ontology=document.ontology)
    named = [label if isinstance(label, str) else label.label for each in labels.values() for label in each]
    return {label: build_concept_id(document.ontology, label) for label in named}


def _found(text: str, label: str | ExtractedConcept) -> ExtractedConcept:
    if isinstance(label, ExtractedConcept):
        return label
    return found(label, *([quote(text, label)] if label in text else []))


def embed_concepts(driver: neo4j.Driver, ontology: str = "notes") -> None:
    rows(driver, "MATCH (j:Job {kind: 'concept_embedding', ontology: $ontology}) DELETE j", ontology=ontology)
    stored = rows(
        driver,
        "MATCH (c:Concept {ontology: $ontology}) RETURN c.concept_id AS id, c.label AS label, "
        "c.description AS description, c.search_terms AS terms",
        ontology=ontology,
    )
    texts = [build_concept_text(each["label"], each["description"], each["terms"]) for each in stored]
    vectors = small_embedder().embed_passages(texts)
    given = [
        {"id": each["id"], "vector": vector.tolist()} for each, vector in zip(stored, vectors, strict=True)
    ]
    set_vector = (
        "UNWIND $given AS one MATCH (c:Concept {concept_id: one.id}) "
        "CALL db.create.setNodeVectorProperty(c, 'embedding', one.vector)"
    )
    rows(driver, set_vector, given=given)
    wanted = "MATCH (o:Ontology {name: $ontology}) SET o.concepts_wanted_at = datetime()"
    rows(driver, wanted, ontology=ontology)


def store_lives(graph: Graph, driver: neo4j.Driver) -> dict[str, str]:
    ids = store_concepts(
        graph,
        record("lives.md", LIVES),
        {
            0: ["Ada Lovelace", ENGINE],
            2: ["Charles Babbage", "Analytical Engine", "London"],
            5: ["London", "Thames"],
            6: ["Herons", "water"],
        },
        {
            0: [("Ada Lovelace", "wrote about", "Analytical Engine")],
            2: [
                ("Charles Babbage", "designed", "Analytical Engine"),
                ("Analytical Engine", "designed in", "London"),
            ],
            5: [("London", "lies on", "Thames")],
        },
    )
    embed_concepts(driver)
    return ids


def store_bees(graph: Graph, driver: neo4j.Driver) -> dict[str, str]:
    ids = store_concepts(
        graph,
        record("bees.md", BEES),
        {0: ["Bees"], 1: ["waggle dance"], 2: ["Karl von Frisch", "waggle dance"]},
        {2: [("Karl von Frisch", "saw", "waggle dance")]},
    )
    run_jobs(graph)
    embed_concepts(driver)
    return ids
