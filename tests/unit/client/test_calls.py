from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.client import calls
from kg_api.client.calls import Call
from kg_api.errors import InvalidInput
from kg_api.settings import load_settings
from kg_api.web.app import create_app

EVERY_CALL: list[Call[Any]] = [
    calls.search_sources("a"),
    calls.ingest_text("t", ontology="o", document="d"),
    calls.ingest_bytes(b"t", ontology="o", document="d"),
    calls.ontologies(),
    calls.delete_ontology("o"),
    calls.documents("o", 0, 10),
    calls.document("d"),
    calls.delete_document("d"),
    calls.source("s"),
    calls.source_context("s", 2),
    calls.embedding_status(None),
    calls.embedding_status("o"),
    calls.embedding_config("o"),
    calls.set_embedding_config("o", strategy="sentence"),
    calls.embed_ontology("o"),
    calls.spaces(),
    calls.add_space(slug="s", provider="openai"),
    calls.embedding_health(),
    calls.preview_text("t", ontology="o", document="d"),
    calls.preview_bytes(b"t", ontology="o", document="d"),
    calls.jobs("queued", "source_embedding", "o", 0, 10),
    calls.job("j"),
    calls.health(),
    calls.readiness(),
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
        if path != "/metrics"  # for Prometheus
    }
    assert {pattern(call) for call in EVERY_CALL} == operations


def test_the_parameters_of_a_call_are_those_of_its_operation() -> None:
    described = create_app(load_settings(), lambda _: None).openapi()["paths"]
    for path, call in (
        ("/documents", calls.documents("o", 0, 10)),
        ("/jobs", calls.jobs("queued", "k", "o", 0, 10)),
    ):
        assert call.params.keys() == {each["name"] for each in described[path]["get"]["parameters"]}


@given(st.text(min_size=1))
def test_an_id_is_one_part_of_the_path_whatever_it_holds(identity: str) -> None:
    for call in (calls.document(identity), calls.job(identity), calls.delete_ontology(identity)):
        assert call.path.count("/") == 2
        assert call.path.isascii()
        assert not set("?#; \r\n") & set(call.path)


def test_half_a_surrogate_pair_is_not_found_rather_than_a_crash() -> None:
    assert calls.job("\ud800").path == "/jobs/%3F"
    assert calls.documents("\ud800", 0, 1).params["ontology"] == "?"


def test_only_what_was_given_is_sent() -> None:
    assert calls.search_sources("a", ontology=None, limit=5).json == {"query_text": "a", "limit": 5}
    assert calls.documents(None, 0, 1).params == {"offset": 0, "limit": 1}
    assert calls.ingest_text("t", ontology="o", document="d", uri=None, metadata={"a": 1}).json == {
        "text": "t",
        "ontology": "o",
        "document": "d",
        "metadata": {"a": 1},
    }


def test_an_upload_is_a_file_with_fields() -> None:
    call = calls.ingest_bytes(b"t", ontology="o", document="d", uri=None, metadata={"a": "é"})
    assert call.files == {"file": ("file", b"t")}
    assert call.data is not None
    assert json.loads(call.data.pop("metadata")) == {"a": "é"}
    assert call.data == {"ontology": "o", "document": "d"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"limit": 0}, "limit"),
        ({"ontology": "a`"}, "ontology: String should match"),
        ({"colour": "red"}, "colour: Extra inputs"),
        ({"min_similarity": float("nan")}, "min_similarity"),
        ({"query_text": ""}, "body: query_text is blank"),
        ({"query_text": None}, "query_text is missing"),
    ],
)
def test_a_search_that_cannot_be_is_refused_before_it_is_sent(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        calls.search_sources(**{"query_text": "a", **options})


@pytest.mark.parametrize(
    "about", [{"document": "\ud800"}, {"ontology": "a/b"}, {"metadata": {"a": [1]}}, {"uri": "x" * 4001}]
)
def test_a_document_that_cannot_be_is_refused_before_it_is_sent(about: dict[str, Any]) -> None:
    about = {"ontology": "o", "document": "d", **about}
    for send in (lambda: calls.ingest_bytes(b"t", **about), lambda: calls.ingest_text("t", **about)):
        with pytest.raises(InvalidInput):
            send()
