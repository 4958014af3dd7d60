from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.client import KgClient
from kg_api.client.call import Call
from kg_api.errors import InvalidInput
from kg_api.models.library.conversations import Message
from kg_api.settings import load_settings
from kg_api.web.app import create_app
from tests.support.bundles import configuration
from tests.unit.client.recording import Recorder, call_of

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
    "evaluations": lambda kg: kg.evaluations("o"),
    "evaluation": lambda kg: kg.evaluation("r"),
    "compare_evaluations": lambda kg: kg.compare_evaluations(["r", "s"], metrics=["ndcg@10"]),
    "constructive_query": lambda kg: kg.constructive_query([{"step": "seed", "value": "a"}]),
    "search_relationships": lambda kg: kg.search_relationships("a"),
    "proposals": lambda kg: kg.proposals("o", kind="source", state="open"),
    "communities": lambda kg: kg.communities("o", level=1, parent="c"),
    "community": lambda kg: kg.community("o", "c", concepts=3, passages=1),
    "passage_map": lambda kg: kg.passage_map("o", limit=10),
    "detect_communities": lambda kg: kg.detect_communities("o"),
    "proposal": lambda kg: kg.proposal("p"),
    "accept_proposal": lambda kg: kg.accept_proposal("p", by="Ada"),
    "reject_proposal": lambda kg: kg.reject_proposal("p"),
    "undo_proposal": lambda kg: kg.undo_proposal("p"),
    "proposals_config": lambda kg: kg.proposals_config("o"),
    "set_proposals_config": lambda kg: kg.set_proposals_config("o", enabled=False),
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
    "iter_sources": lambda kg: kg.iter_sources("a"),
    "source": lambda kg: kg.source("s"),
    "read_document": lambda kg: kg.read_document("d"),
    "source_context": lambda kg: kg.source_context("s"),
    "similar_sources": lambda kg: kg.similar_sources("s"),
    "cross_document_similarity": lambda kg: kg.cross_document_similarity("s"),
    "similar_documents": lambda kg: kg.similar_documents("d"),
    "source_graph": lambda kg: kg.source_graph(ontology="o"),
    "search_concepts": lambda kg: kg.search_concepts("a"),
    "concept_paths": lambda kg: kg.concept_paths("a", "b", ontology="o"),
    "concept": lambda kg: kg.concept("c"),
    "get_concept_context": lambda kg: kg.get_concept_context("c"),
    "related_concepts": lambda kg: kg.related_concepts("c"),
    "neighbourhood": lambda kg: kg.neighbourhood("c"),
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
    "open_import": lambda kg: kg.open_import(configuration(), format=1, schema_version=120),
    "import_lines": lambda kg: kg.import_lines("o", b"{}", replace=True),
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


def test_every_method_is_tried() -> None:
    methods = {name for name, _ in inspect.getmembers(KgClient, inspect.isfunction)}
    assert {name for name in methods if not name.startswith("_")} - {"close"} == ASKING.keys()


def pattern(call: Call[Any]) -> tuple[str, int, str]:
    """A call's method, how many parts its path has, and the first of them."""
    parts = call.path.strip("/").split("/")
    return call.method, len(parts), parts[0]


def test_there_is_a_call_for_every_operation_of_the_service_and_no_other() -> None:
    described = create_app(load_settings(), lambda _: None).openapi()["paths"]
    operations = {
        (method.upper(), path.strip("/").count("/") + 1, path.strip("/").split("/")[0])
        for path, methods in described.items()
        for method in methods
        if path not in {"/", "/metrics"}  # for people, for Prometheus
    }
    calls = [*map(call_of, ASKING.values()), call_of(lambda kg: kg.embedding_status())]
    assert {pattern(call) for call in calls} == operations


def test_the_parameters_of_a_call_are_those_of_its_operation() -> None:
    described = create_app(load_settings(), lambda _: None).openapi()["paths"]
    listed = (("/documents", "documents"), ("/jobs", "jobs"), ("/concepts/paths", "concept_paths"))
    evaluated = (("/evaluations", "evaluations"), ("/evaluations/compare", "compare_evaluations"))
    for path, name in (*listed, *evaluated):
        asked = {each["name"] for each in described[path]["get"]["parameters"]}
        assert call_of(ASKING[name]).params.keys() == asked


@given(st.text(min_size=1).filter(str.strip))
def test_an_id_is_one_part_of_the_path_whatever_it_holds(identity: str) -> None:
    asking: list[Callable[[KgClient], object]] = [
        lambda kg: kg.document(identity),
        lambda kg: kg.job(identity),
        lambda kg: kg.delete_ontology(identity),
    ]
    for call in map(call_of, asking):
        assert call.path.count("/") == 2
        assert call.path.isascii()
        assert not set("?#; \r\n") & set(call.path)


def test_what_is_no_id_is_told_before_anything_is_sent() -> None:
    for method in ("follow_job", "job", "document", "source_context", "delete_ontology"):
        with pytest.raises(InvalidInput, match="an id or a name was expected, not None"):
            call_of(lambda kg, name=method: getattr(kg, name)(None))


def test_half_a_surrogate_pair_is_not_found_rather_than_a_crash() -> None:
    assert call_of(lambda kg: kg.job("\ud800")).path == "/jobs/%3F"
    assert call_of(lambda kg: kg.documents("\ud800")).params["ontology"] == "?"


def test_only_what_differs_from_the_default_is_sent() -> None:
    searching = call_of(lambda kg: kg.search_sources("a", ontology=None, mode="hybrid", limit=5))
    assert searching.json == {"query_text": "a", "limit": 5}
    assert call_of(lambda kg: kg.documents(limit=1)).params == {"offset": 0, "limit": 1}
    storing = call_of(lambda kg: kg.ingest_text("t", ontology="o", document="d", metadata={"a": 1}))
    assert storing.json == {"text": "t", "ontology": "o", "document": "d", "metadata": {"a": 1}}


def test_none_is_the_default_unless_it_means_something() -> None:
    unset: Any = None
    assert call_of(lambda kg: kg.search_sources("a", mode=unset, rerank=unset)).json == {"query_text": "a"}
    assert call_of(lambda kg: kg.augment("a", per_document=None)).json == {"text": "a", "per_document": None}
    assert call_of(lambda kg: kg.augment("a")).json == {"text": "a"}
    reset = call_of(lambda kg: kg.set_embedding_config("o", strategy=None, overlap=0))
    assert reset.json == {"strategy": None, "overlap": 0}
    assert call_of(lambda kg: kg.set_extraction_config("o", per_source=None)).json == {"per_source": None}


def test_what_is_several_may_be_any_sequence() -> None:
    call = call_of(lambda kg: kg.search_sources("a", ontology=("o", "p"), documents=("d",)))
    assert call.json == {"query_text": "a", "ontology": ["o", "p"], "documents": ["d"]}
    talk = (Message(author="a", text="t"), {"author": "b", "text": "u", "timestamp": "2026-03-01T09:30:00Z"})
    sent = call_of(lambda kg: kg.augment(messages=talk)).json["messages"]
    assert sent == [{"author": "a", "text": "t"}, talk[1]]


def test_an_upload_is_a_file_with_fields() -> None:
    call = call_of(lambda kg: kg.ingest_bytes(b"t", ontology="o", document="d", metadata={"a": "é"}))
    assert call.files == [("file", ("file", b"t"))]
    assert call.data is not None
    assert call.data.keys() == {"ontology", "document", "metadata"}
    assert json.loads(str(call.data["metadata"])) == {"a": "é"}
    assert (call.data["ontology"], call.data["document"]) == ("o", "d")


def test_the_pictures_of_an_upload_are_named_by_their_references() -> None:
    images = {"img/red boat.png": b"1", "../a%20b.png": b"2"}
    for method in ("ingest_bytes", "preview_bytes"):
        call = call_of(lambda kg, m=method: getattr(kg, m)(b"t", ontology="o", document="d", images=images))
        assert call.files == [
            ("file", ("file", b"t")),
            ("images", ("img/red%20boat.png", b"1")),
            ("images", ("../a%20b.png", b"2")),
        ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"limit": 0}, "limit"),
        ({"ontology": "a`"}, "ontology: letters and digits"),
        ({"min_similarity": float("nan")}, "min_similarity"),
        ({"query_text": ""}, "query_text is blank"),
        ({"query_text": None}, "query_text is missing"),
        ({"mode": "colour"}, "mode"),
    ],
)
def test_a_search_that_cannot_be_is_refused_before_it_is_sent(options: dict[str, Any], told: str) -> None:
    with Recorder() as kg, pytest.raises(InvalidInput, match=told):
        kg.search_sources(**dict[str, Any]({"query_text": "a"}) | options)
    assert kg.calls == []


@pytest.mark.parametrize(
    "about", [{"document": "\ud800"}, {"ontology": "a/b"}, {"metadata": {"a": [[1]]}}, {"uri": "x" * 4001}]
)
def test_a_document_that_cannot_be_is_refused_before_it_is_sent(about: dict[str, Any]) -> None:
    about = {"ontology": "o", "document": "d", **about}
    with Recorder() as kg:
        for given, method in ((b"t", "ingest_bytes"), ("t", "ingest_text")):
            with pytest.raises(InvalidInput):
                getattr(kg, method)(given, **about)
    assert kg.calls == []
