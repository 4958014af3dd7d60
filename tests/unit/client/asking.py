from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any, cast

from kg_api.client import KgClient
from kg_api.client.call import Call
from kg_api.errors import ServiceUnreachable
from kg_api.schemas.search import SourceHits
from tests.support.bundles import configuration


class Recorder(KgClient):
    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.calls: list[Call[Any]] = []

    def _send(self, call: Call[Any]) -> Any:
        self.calls.append(call)
        return SourceHits.model_construct(sources=[]) if call.answer is SourceHits else None  # the last page

    def _follow(self, call: Call[Any], silence: float = 0.0) -> Generator[Any]:  # noqa: ARG002 - it waits for nothing
        self.calls.append(call)
        yield from ()


def call_of(ask: Callable[[KgClient], object]) -> Call[Any]:
    """The one call that is sent for it."""
    with Recorder() as kg, contextlib.suppress(ServiceUnreachable):  # an answer that breaks off
        asked = ask(kg)
        if isinstance(asked, Generator):
            list(cast("Generator[Any]", asked))
    (call,) = kg.calls
    return call


ASKING: dict[str, Callable[[KgClient], object]] = {
    "search_sources": lambda kg: kg.search_sources("a"),
    "hybrid_search": lambda kg: kg.hybrid_search("a"),
    "augment": lambda kg: kg.augment("a"),
    "answer": lambda kg: kg.answer("a", limit=3),
    "stream_answer": lambda kg: kg.stream_answer("a"),
    "relationship_types": lambda kg: kg.relationship_types("o"),
    "propose_relationship_types": lambda kg: kg.propose_relationship_types("o"),
    "merge_relationship_types": lambda kg: kg.merge_relationship_types("o", into="a", merged=["b"]),
    "concept_merges": lambda kg: kg.concept_merges("o"),
    "undo_concept_merge": lambda kg: kg.undo_concept_merge("o", "m"),
    "relationship_type_merges": lambda kg: kg.relationship_type_merges("o"),
    "undo_type_merge": lambda kg: kg.undo_type_merge("o", "m"),
    "set_relationship_stance": lambda kg: kg.set_relationship_stance("o", "a", "supports"),
    "constructive_query": lambda kg: kg.constructive_query([{"step": "seed", "value": "a"}]),
    "search_relationships": lambda kg: kg.search_relationships("a"),
    "proposals": lambda kg: kg.proposals("o", kind="source", state="open"),
    "communities": lambda kg: kg.communities("o", offset=1),
    "community": lambda kg: kg.community("o", "c", concepts=3, passages=1),
    "passage_map": lambda kg: kg.passage_map("o", limit=10),
    "detect_communities": lambda kg: kg.detect_communities("o"),
    "proposal": lambda kg: kg.proposal("p"),
    "accept_proposal": lambda kg: kg.accept_proposal("p", by="Ada"),
    "reject_proposal": lambda kg: kg.reject_proposal("p"),
    "undo_proposal": lambda kg: kg.undo_proposal("p"),
    "search_proposals": lambda kg: kg.search_proposals("o", anew=True),
    "import_concepts": lambda kg: kg.import_concepts([{"document": "d"}], ontology="o"),
    "ingest_text": lambda kg: kg.ingest_text("t", ontology="o", document="d"),
    "ingest_bytes": lambda kg: kg.ingest_bytes(b"t", ontology="o", document="d"),
    "ingest_batch": lambda kg: kg.ingest_batch([{"text": "t", "ontology": "o", "document": "d"}]),
    "ingest_conversation": lambda kg: kg.ingest_conversation(TALK, ontology="o", title="t"),
    "preview_text": lambda kg: kg.preview_text("t", ontology="o", document="d"),
    "preview_bytes": lambda kg: kg.preview_bytes(b"t", ontology="o", document="d"),
    "documents": lambda kg: kg.documents("o", where=["a=1"]),
    "document": lambda kg: kg.document("d"),
    "change_document": lambda kg: kg.change_document("d", metadata={"a": 1}),
    "facets": lambda kg: kg.facets(["author"]),
    "delete_documents": lambda kg: kg.delete_documents(["a=1"]),
    "delete_document": lambda kg: kg.delete_document("d"),
    "waiting": lambda kg: kg.waiting("o"),
    "approve": lambda kg: kg.approve(ontology="o", documents=["d"]),
    "reject": lambda kg: kg.reject(ontology="o", all=True),
    "judge": lambda kg: kg.judge("o", question="q", source_id="s", relevance=1),
    "judgements": lambda kg: kg.judgements("o", "q"),
    "judged_questions": lambda kg: kg.judged_questions("o"),
    "delete_judgements": lambda kg: kg.delete_judgements("o", "q", "s"),
    "images": lambda kg: kg.images("o"),
    "image": lambda kg: kg.image("s"),
    "thumbnail": lambda kg: kg.thumbnail("s"),
    "page_image": lambda kg: kg.page_image("d", 1),
    "related_sources": lambda kg: kg.related_sources("s"),
    "search_images": lambda kg: kg.search_images("a"),
    "search_by_image": lambda kg: kg.search_by_image(b"p", where=["a=1"]),
    "ontologies": lambda kg: kg.ontologies(),
    "delete_ontology": lambda kg: kg.delete_ontology("o"),
    "embedding_status": lambda kg: kg.embedding_status("o"),
    "embedding_config": lambda kg: kg.embedding_config("o"),
    "set_embedding_config": lambda kg: kg.set_embedding_config("o", strategy="sentence"),
    "embed_ontology": lambda kg: kg.embed_ontology("o"),
    "regenerate_embeddings": lambda kg: kg.regenerate_embeddings("o", selection="stale"),
    "refused": lambda kg: kg.refused("o"),
    "folders": lambda kg: kg.folders(),
    "folder": lambda kg: kg.folder("f"),
    "add_folder": lambda kg: kg.add_folder("/f", ontology="o"),
    "scan_folder": lambda kg: kg.scan_folder("f", allow_empty=True),
    "remove_folder": lambda kg: kg.remove_folder("f", delete_documents=True),
    "source_pages": lambda kg: kg.source_pages("a"),
    "source": lambda kg: kg.source("s"),
    "read_document": lambda kg: kg.read_document("d"),
    "source_context": lambda kg: kg.source_context("s"),
    "similar_sources": lambda kg: kg.similar_sources("s"),
    "cross_document_similarity": lambda kg: kg.cross_document_similarity("s"),
    "source_graph": lambda kg: kg.source_graph(ontology="o"),
    "search_concepts": lambda kg: kg.search_concepts("a"),
    "concept_paths": lambda kg: kg.concept_paths("a", "b", ontology="o"),
    "concept": lambda kg: kg.concept("c"),
    "get_concept_context": lambda kg: kg.get_concept_context("c"),
    "related_concepts": lambda kg: kg.related_concepts("c"),
    "concepts": lambda kg: kg.concepts("o"),
    "extraction_config": lambda kg: kg.extraction_config("o", with_cost=True),
    "synonyms": lambda kg: kg.synonyms("o"),
    "language": lambda kg: kg.language("o"),
    "set_language": lambda kg: kg.set_language("o", "de"),
    "set_synonyms": lambda kg: kg.set_synonyms("o", [["k8s", "kubernetes"]]),
    "set_extraction_config": lambda kg: kg.set_extraction_config("o", extractor="llm"),
    "extract_concepts": lambda kg: kg.extract_concepts("o"),
    "extraction_refused": lambda kg: kg.extraction_refused("o"),
    "embedding_spaces": lambda kg: kg.embedding_spaces(),
    "add_embedding_space": lambda kg: kg.add_embedding_space("s", provider="openai"),
    "embedding_health": lambda kg: kg.embedding_health(),
    "build_space": lambda kg: kg.build_space("s", ontologies=["o"], activate=True),
    "check_space": lambda kg: kg.check_space("s", "o"),
    "activate_space": lambda kg: kg.activate_space("s"),
    "rollback_space": lambda kg: kg.rollback_space("s", ["o"]),
    "drop_space": lambda kg: kg.drop_space("s", "o"),
    "keys": lambda kg: kg.keys(),
    "audit": lambda kg: kg.audit("ada"),
    "create_key": lambda kg: kg.create_key("ada", scope="write"),
    "rotate_key": lambda kg: kg.rotate_key("ada", overlap_hours=1),
    "revoke_key": lambda kg: kg.revoke_key("ada"),
    "export_offer": lambda kg: kg.export_offer(["o"]),
    "export_documents": lambda kg: kg.export_documents("o", after="d"),
    "export_blob": lambda kg: kg.export_blob("0" * 64),
    "open_import": lambda kg: kg.open_import(configuration(), format=1, schema_version=120, replace=True),
    "import_lines": lambda kg: kg.import_lines("o", b"{}"),
    "import_blob": lambda kg: kg.import_blob("0" * 64, b"p"),
    "jobs": lambda kg: kg.jobs(state="queued", kind="source_embedding", ontology="o"),
    "job": lambda kg: kg.job("j"),
    "cancel_job": lambda kg: kg.cancel_job("j"),
    "retry_job": lambda kg: kg.retry_job("j"),
    "follow_job": lambda kg: kg.follow_job("j"),
    "follow_jobs": lambda kg: kg.follow_jobs("o"),
    "queue": lambda kg: kg.queue(),
    "health": lambda kg: kg.health(),
    "readiness": lambda kg: kg.readiness(),
}
TALK = [{"author": "a", "text": "t"}]
