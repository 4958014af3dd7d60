from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.client.areas import (
    answer,
    augment,
    concept_import,
    concepts,
    conversation,
    embedding,
    extraction,
    folders,
    health,
    ingest,
    jobs,
    library,
    search,
    similarity,
    switching,
)
from kg_api.client.call import Call
from kg_api.errors import InvalidInput
from kg_api.settings import load_settings
from kg_api.web.app import create_app

EVERY_CALL: list[Call[Any]] = [
    concept_import.import_concepts([{"document": "d", "concepts": [{"label": "a"}]}], ontology="o"),
    search.search_sources("a"),
    search.hybrid_search("a"),
    augment.augment("a", None, None),
    answer.stream_answer("a", None, limit=3),
    ingest.ingest_text("t", ontology="o", document="d"),
    ingest.ingest_bytes(b"t", ontology="o", document="d"),
    conversation.ingest_conversation([{"author": "a", "text": "t"}], ontology="o", title="t"),
    library.ontologies(),
    library.delete_ontology("o"),
    library.documents("o", 0, 10),
    library.document("d"),
    library.delete_document("d"),
    folders.folders(),
    folders.folder("f"),
    folders.add_folder(path="/f", ontology="o"),
    folders.scan_folder("f", allow_empty=True),
    folders.remove_folder("f", delete_documents=True),
    search.source("s"),
    search.source_context("s", 2),
    similarity.similar_sources("s"),
    similarity.similar_documents("d"),
    similarity.source_graph(ontology="o"),
    concepts.search_concepts("a"),
    concepts.concept_paths("a", "b"),
    concepts.concept("c"),
    concepts.concept_context("c"),
    concepts.related_concepts("c"),
    concepts.neighbourhood("c"),
    concepts.concepts("o"),
    library.embedding_status(None),
    library.embedding_status("o"),
    embedding.embedding_config("o"),
    embedding.set_embedding_config("o", strategy="sentence"),
    embedding.embed_ontology("o"),
    extraction.extraction_config("o", with_cost=True),
    extraction.set_extraction_config("o", extractor="llm"),
    extraction.extract_concepts("o"),
    extraction.extraction_refused("o"),
    embedding.spaces(),
    embedding.add_space(slug="s", provider="openai"),
    embedding.embedding_health(),
    switching.regenerate(ontology="o", selection="stale"),
    switching.refused("o"),
    switching.build_space("s", ontologies=["o"], activate=True),
    switching.check_space("s", "o"),
    switching.activate_space("s", ontologies=None),
    switching.rollback_space("s", ["o"]),
    switching.drop_space("s", "o"),
    ingest.preview_text("t", ontology="o", document="d"),
    ingest.preview_bytes(b"t", ontology="o", document="d"),
    jobs.jobs("queued", "source_embedding", "o", 0, 10),
    jobs.job("j"),
    jobs.cancel_job("j"),
    jobs.retry_job("j"),
    jobs.follow_job("j"),
    jobs.follow_jobs("o"),
    jobs.queue(),
    health.health(),
    health.readiness(),
]


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
    assert {pattern(call) for call in EVERY_CALL} == operations


def test_the_parameters_of_a_call_are_those_of_its_operation() -> None:
    described = create_app(load_settings(), lambda _: None).openapi()["paths"]
    for path, call in (
        ("/documents", library.documents("o", 0, 10)),
        ("/jobs", jobs.jobs("queued", "k", "o", 0, 10)),
    ):
        assert call.params.keys() == {each["name"] for each in described[path]["get"]["parameters"]}


@given(st.text(min_size=1))
def test_an_id_is_one_part_of_the_path_whatever_it_holds(identity: str) -> None:
    for call in (library.document(identity), jobs.job(identity), library.delete_ontology(identity)):
        assert call.path.count("/") == 2
        assert call.path.isascii()
        assert not set("?#; \r\n") & set(call.path)


def test_half_a_surrogate_pair_is_not_found_rather_than_a_crash() -> None:
    assert jobs.job("\ud800").path == "/jobs/%3F"
    assert library.documents("\ud800", 0, 1).params["ontology"] == "?"


def test_only_what_was_given_is_sent() -> None:
    assert search.search_sources("a", ontology=None, limit=5).json == {"query_text": "a", "limit": 5}
    assert library.documents(None, 0, 1).params == {"offset": 0, "limit": 1}
    assert ingest.ingest_text("t", ontology="o", document="d", uri=None, metadata={"a": 1}).json == {
        "text": "t",
        "ontology": "o",
        "document": "d",
        "metadata": {"a": 1},
    }


def test_an_upload_is_a_file_with_fields() -> None:
    call = ingest.ingest_bytes(b"t", ontology="o", document="d", uri=None, metadata={"a": "é"})
    assert call.files == {"file": ("file", b"t")}
    assert call.data is not None
    assert json.loads(call.data.pop("metadata")) == {"a": "é"}
    assert call.data == {"ontology": "o", "document": "d"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"limit": 0}, "limit"),
        ({"ontology": "a`"}, "ontology: letters and digits"),
        ({"colour": "red"}, "colour: Extra inputs"),
        ({"min_similarity": float("nan")}, "min_similarity"),
        ({"query_text": ""}, "query_text is blank"),
        ({"query_text": None}, "query_text is missing"),
    ],
)
def test_a_search_that_cannot_be_is_refused_before_it_is_sent(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        search.search_sources(**{"query_text": "a", **options})


@pytest.mark.parametrize(
    "about", [{"document": "\ud800"}, {"ontology": "a/b"}, {"metadata": {"a": [1]}}, {"uri": "x" * 4001}]
)
def test_a_document_that_cannot_be_is_refused_before_it_is_sent(about: dict[str, Any]) -> None:
    about = {"ontology": "o", "document": "d", **about}
    for send in (lambda: ingest.ingest_bytes(b"t", **about), lambda: ingest.ingest_text("t", **about)):
        with pytest.raises(InvalidInput):
            send()
