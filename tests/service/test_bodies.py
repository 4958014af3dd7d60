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
