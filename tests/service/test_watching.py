from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families

from kg_api.graph.client import Graph
from tests.service.asking import embedded, search
from tests.support.meters import metrics

SECRET = "xylophone"


def samples(http: httpx.Client) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = http.get("/metrics").raise_for_status().text
    families = text_string_to_metric_families(text)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def counted(http: httpx.Client, name: str, **labels: str) -> float:
    return samples(http).get((name, frozenset(labels.items())), 0.0)


def test_requests_are_counted_by_route_template(http: httpx.Client, graph: Graph) -> None:
    stored = embedded(graph, http, f"A {SECRET} has bars of wood.", ontology=SECRET)
    of = {"method": "GET", "route": "/documents/{document_id}"}
    before = {
        status: counted(http, "kg_http_requests_total", **of, status=status) for status in ("2xx", "4xx")
    }
    http.get(f"/documents/{stored['document_id']}").raise_for_status()
    assert http.get(f"/documents/{SECRET}").status_code == 404
    assert counted(http, "kg_http_requests_total", **of, status="2xx") == before["2xx"] + 1
    assert counted(http, "kg_http_requests_total", **of, status="4xx") == before["4xx"] + 1
    assert counted(http, "kg_http_request_seconds_count", **of) >= 2
    assert counted(http, "kg_http_requests_open") == 1  # the one that asks


def test_unknown_routes_share_one_label(http: httpx.Client) -> None:
    of = {"method": "other", "route": "none", "status": "4xx"}
    before = counted(http, "kg_http_requests_total", **of)
    assert http.request("PROPFIND", f"/{SECRET}").status_code in {404, 405}
    assert counted(http, "kg_http_requests_total", **of) == before + 1


def test_a_search_leaves_its_stages_and_statements(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, f"A {SECRET} has bars of wood.", ontology=SECRET)
    stages = ("embed", "retrieve", "fuse", "tell")
    before = [counted(http, "kg_search_stage_seconds_count", of="search", stage=each) for each in stages]
    reads = counted(http, "kg_neo4j_seconds_count", access="read")
    assert search(http, SECRET, ontology=SECRET)["sources"]
    after = [counted(http, "kg_search_stage_seconds_count", of="search", stage=each) for each in stages]
    assert all(now > then for now, then in zip(after, before, strict=True))
    assert counted(http, "kg_neo4j_seconds_count", access="read") > reads
    assert SECRET not in http.get("/metrics").text.casefold()


def test_every_metric_is_documented_with_its_labels(http: httpx.Client) -> None:
    known = metrics()
    there = {name: set(dict(labels)) for name, labels in samples(http) if not name.endswith("_created")}
    ours = {name: labels for name, labels in there.items() if not name.startswith(("python_", "process_"))}
    assert ours.keys() <= known.keys()
    assert {name: labels for name, labels in ours.items() if labels != known[name]} == {}
