from collections.abc import Callable, Sequence

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import list_unread_sources
from kg_api.graph.document_writes import store_document
from kg_api.graph.vectors import read_rejected_sources
from kg_api.schemas.concepts import Extraction
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.embedding import RefusedSource
from kg_api.spaces.plans import read_embedding_state
from tests.graph.test_embedding_jobs import PickyEmbedder
from tests.support.concepts import write
from tests.support.embedding import run_jobs
from tests.support.records import record

Reject = Callable[[Graph, Sequence[DocumentRecord], int], list[RefusedSource]]


def reject_embeddings(graph: Graph, documents: Sequence[DocumentRecord], limit: int) -> list[RefusedSource]:
    del documents
    run_jobs(graph, PickyEmbedder("odd"))
    return read_rejected_sources(
        graph, "notes", read_embedding_state(graph, "notes").target.mark, limit=limit
    )


def reject_extractions(graph: Graph, documents: Sequence[DocumentRecord], limit: int) -> list[RefusedSource]:
    for document in documents:
        odd = [each for each in document.sources if "odd" in each.full_text]
        write(graph, *(Extraction(each.source_id, each.content_hash, refused="too long") for each in odd))
    return list_unread_sources(graph, "notes", "m1", limit=limit)


@pytest.mark.parametrize("reject", [reject_embeddings, reject_extractions])
def test_rejected_sources_are_listed_in_reading_order(graph: Graph, reject: Reject) -> None:
    texts = ["odd one", "plain", "odd two"]
    documents = [record(name, texts) for name in ("b.md", "a.md", "c.md")]
    for each in documents:
        store_document(graph, each)
    found = reject(graph, documents, 5)
    assert [(each.document, each.paragraph) for each in found] == [
        ("a.md", 0), ("a.md", 2), ("b.md", 0), ("b.md", 2), ("c.md", 0),
    ]  # fmt: skip
    assert all(each.reason for each in found)
