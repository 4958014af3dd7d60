from collections.abc import Sequence

from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import request_concepts
from kg_api.graph.concept_writes import write_extractions
from kg_api.graph.document_writes import store_document
from kg_api.schemas.concepts import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.schemas.documents import DocumentRecord
from tests.support.records import record

JOURNAL = "The Gazette of Lanterns is a paper that the Guild of Keepers prints."
GUILD = "Its first warden, Maren Holt, came from the coast."
TOWN = "Holmstad lies at the sea and has a harbour."
OTHERS = [f"Filler number{n} about weather{n} and other things of no matter." for n in range(20)]


def carried(
    document: DocumentRecord, at: int, *labels: str, relations: Sequence[tuple[str, str, str]] = ()
) -> Extraction:
    source = document.sources[at]
    concepts = []
    for label in labels:
        start = source.full_text.find(label)
        said = source.full_text.strip() if start < 0 else label
        concepts.append(ExtractedConcept(label, (Quote(said, max(0, start), max(0, start) + len(said)),)))
    stated = tuple(ExtractedRelation(*relation) for relation in relations)
    return Extraction(source.source_id, source.content_hash, tuple(concepts), stated)


def add_lanterns(graph: Graph, *more: str) -> None:
    documents = [record("journal.md", [JOURNAL]), record("guild.md", [GUILD]), record("town.md", [TOWN])]
    for each in (*documents, record("filler.md", OTHERS)):
        store_document(graph, each)
    found = [
        carried(documents[0], 0, "Gazette of Lanterns", "Guild of Keepers"),
        carried(
            documents[1],
            0,
            "Guild of Keepers",
            "Maren Holt",
            relations=[("Maren Holt", "born in", "Guild of Keepers")],
        ),
        carried(documents[2], 0, "Holmstad", "Maren Holt"),
    ]
    graph.transaction(lambda tx: request_concepts(tx, "notes"))
    graph.transaction(lambda tx: write_extractions(tx, "notes", found, "m"))
    for number, text in enumerate(more):
        store_document(graph, record(f"issue{number:02}.md", [text]))
