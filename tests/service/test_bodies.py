from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput
from tests.service.asking import ingest

METHODS = ("get", "put", "post", "delete", "patch")


def operations(http: httpx.Client) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in http.get("/openapi.json").json()["paths"].items():
        for method in METHODS:
            if method in methods and not {"health"} & set(methods[method].get("tags", ())):
                yield method, path, methods[method]


def test_operation_without_body_rejects_a_body(http: httpx.Client) -> None:
    without = [(method, path) for method, path, about in operations(http) if "requestBody" not in about]
    assert len(without) > 20
    for method, path in without:
        filled = path.replace("{ontology}", "notes").replace("{slug}", "default")
        filled = filled.replace("{", "").replace("}", "")
        refused = http.request(method, filled, json={"source_ids": ["x"]})
        assert refused.status_code == 422, (method, path, refused.text)
        assert "no body" in refused.text or "query" in refused.text, (method, path)


def test_operation_with_body_rejects_unknown_fields(http: httpx.Client) -> None:
    with_body = [
        (method, path)
        for method, path, about in operations(http)
        if "application/json" in about.get("requestBody", {}).get("content", {})
    ]
    assert len(with_body) > 15
    for method, path in with_body:
        filled = path.replace("{ontology}", "notes").replace("{slug}", "default")
        filled = filled.replace("{", "").replace("}", "")
        refused = http.request(method, filled, json={"no_such_field": 1})
        assert refused.status_code == 422, (method, path, refused.text)
        fields = [each["field"] for each in refused.json()["errors"]]
        assert "no_such_field" in fields, (method, path, fields)


def test_nested_objects_accept_only_known_fields(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    seen: set[str] = set()
    loose: set[str] = set()

    def look(schema: Any) -> None:
        if isinstance(schema, list):
            for each in schema:
                look(each)
        if not isinstance(schema, dict):
            return
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if name and name not in seen:
            seen.add(name)
            found = document["components"]["schemas"][name]
            if "properties" in found and found.get("additionalProperties") is not False:
                loose.add(name)
            look(found)
        for value in schema.values():
            look(value)

    for _, _, about in operations(http):
        for content in about.get("requestBody", {}).get("content", {}).values():
            look(content["schema"])
    assert len(seen) > 10
    assert loose == set()


def test_empty_object_is_an_empty_request(http: httpx.Client) -> None:
    ingest(http, "text")
    for body in (b"", b"{}"):
        assert http.post("/ontologies/notes/embeddings", content=body).status_code == 202
    refused = http.post("/ontologies/notes/embeddings", json={"source_ids": ["x"]})
    assert refused.status_code == 422
    assert "takes no body" in refused.json()["detail"]


def test_put_keeps_omitted_embedding_fields(kg: KgClient, http: httpx.Client) -> None:
    kg.set_embedding_config("new", strategy="hierarchical", chunk_size=300, context="template")
    named = kg.set_embedding_config("new", context_template="{title}[ ({date})]", dry_run=True)
    assert named.config.context_template == "{title}[ ({date})]"
    with pytest.raises(InvalidInput, match=r"context_template.*\{author\}"):
        kg.set_embedding_config("new", context_template="{name}", dry_run=True)
    path = "/ontologies/new/embedding-config"
    assert http.put(path, json={"embed_on_ingest": False}).status_code == 200
    config = kg.embedding_config("new").config
    assert (config.strategy, config.chunk_size, config.context) == ("hierarchical", 300, "template")
    assert config.embed_on_ingest is False
    changed = kg.set_embedding_config("new", strategy="sentence").config
    assert (changed.strategy, changed.chunk_size, changed.context) == ("sentence", 40, "template")
    usual = kg.set_embedding_config("new", strategy=None, context=None).config
    assert (usual.strategy, usual.context, usual.embed_on_ingest) == ("paragraph", "none", False)


def test_put_keeps_omitted_extraction_fields(kg: KgClient) -> None:
    kg.set_extraction_config("new", extractor="keyphrase", per_source=9)
    assert kg.set_extraction_config("new", budget=2.5).config.per_source == 9
    assert kg.set_extraction_config("new", per_source=None).config.per_source is None
