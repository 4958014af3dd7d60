"""Words that searches of an ontology take for each other, over REST and the client."""

from __future__ import annotations

import time

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput, NotFound
from tests.service.asking import ingest

REMEMBERED = 1.1
"""Seconds that a service remembers what it knows of ontologies."""


def test_synonyms_are_set_read_used_and_taken_away(http: httpx.Client, kg: KgClient) -> None:
    ingest(http, "the kubernetes cluster\n\nsomething else", ontology="a")
    assert kg.synonyms("a").groups == []
    assert kg.set_synonyms("a", [["k8s", "kubernetes"]]).groups == [["k8s", "kubernetes"]]
    assert kg.synonyms("a").groups == [["k8s", "kubernetes"]]
    time.sleep(REMEMBERED)
    found = kg.search_sources("K8S", mode="text", ontology="a")
    assert [hit.full_text.strip() for hit in found.sources] == ["the kubernetes cluster\n\nsomething else"]
    assert kg.search_sources("kuberntes", mode="text").did_you_mean[0].meant == ["kubernetes"]
    assert kg.set_synonyms("a", []).groups == []
    time.sleep(REMEMBERED)
    assert kg.search_sources("K8S", mode="text", ontology="a").sources == []


def test_an_ontology_that_is_not_there_and_bad_groups_are_refused(http: httpx.Client, kg: KgClient) -> None:
    ingest(http, "a text", ontology="a")
    with pytest.raises(NotFound, match="no ontology 'aa'"):
        kg.set_synonyms("aa", [["x", "y"]])
    with pytest.raises(InvalidInput, match="groups"):
        kg.set_synonyms("a", [["alone"]])
