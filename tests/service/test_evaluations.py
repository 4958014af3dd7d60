"""Saved results of evaluations over REST and the client."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput, NotFound
from kg_api.schemas.vocabulary import KeyScope
from tests.service.asking import problem
from tests.support.browsing import signed_in
from tests.support.evaluations import measured, save
from tests.support.running import Service, wait_until
from tests.support.two_libraries import sending


@pytest.mark.usefixtures("evaluations")
def test_results_are_listed_read_and_compared(kg: KgClient) -> None:
    found = kg.evaluations()
    assert [each.name for each in found.evaluations] == ["owls", "hybrid", "text"]
    assert (found.total, found.unreadable, found.notes) == (3, [], [])
    assert [each.name for each in kg.evaluations("bees", offset=1).evaluations] == ["text"]
    whole = kg.evaluation("text")
    assert whole.per_query["q2"]["mrr@10"] == 0
    assert whole.questions["q2"] == "What is 2?"
    both = kg.compare_evaluations(["text", "hybrid"], metrics=["mrr@10"])
    assert both.results == {"text": "text", "hybrid": "hybrid"}
    (test,) = both.tests
    assert (test.label, test.wins, test.ties, test.losses, test.significant) == ("hybrid", 9, 3, 0, True)
    assert {each.metric for each in kg.compare_evaluations(["text", "hybrid"], against="best").tests} == {
        *("ndcg@10", "recall@10", "mrr@10", "hit_rate@1")
    }


def test_unreadable_results_are_listed_separately(
    kg: KgClient, http: httpx.Client, evaluations: Path
) -> None:
    (evaluations / "cut.json").write_text((evaluations / "text.json").read_text()[:300])
    save(evaluations, "newer", measured("a", [1], format=9))
    found = kg.evaluations()
    assert found.total == 3
    assert [each.name for each in found.unreadable] == ["cut", "newer"]
    assert "newer kg" in problem(http.get("/evaluations/newer"), 422)


@pytest.mark.usefixtures("evaluations")
def test_unknown_or_incomparable_results_are_rejected(kg: KgClient, http: httpx.Client) -> None:
    with pytest.raises(NotFound, match="result 'none' not found"):
        kg.evaluation("none")
    with pytest.raises(InvalidInput, match="they differ in data"):
        kg.compare_evaluations(["text", "owls"])
    with pytest.raises(InvalidInput, match="not all results have map@7"):
        kg.compare_evaluations(["text", "hybrid"], metrics=["map@7"])
    assert "two results" in problem(http.get("/evaluations/compare?name=text"), 422)
    for path in ("..%2Fneo4j-password", "%2E%2E", "..%2F..%2Fetc%2Fpasswd", "text.json"):
        assert http.get(f"/evaluations/{path}").status_code == 404, path
    many = "&".join(["name=text"] * 11)
    assert problem(http.get(f"/evaluations/compare?{many}"), 422)


def test_list_is_empty_without_results(kg: KgClient) -> None:
    assert kg.evaluations().total == 0
    with pytest.raises(NotFound, match="ontology 'beez' not found"):
        kg.evaluations("beez")


@pytest.mark.usefixtures("evaluations")
def test_a_result_is_deleted(kg: KgClient, evaluations: Path) -> None:
    with pytest.raises(NotFound, match=r"result 'texts' not found .did you mean 'text'"):
        kg.delete_evaluation("texts")
    gone = kg.delete_evaluation("text")
    assert (gone.name, gone.ontology) == ("text", "bees")
    assert sorted(each.name for each in evaluations.iterdir()) == ["hybrid.json", "owls.json"]
    assert [each.name for each in kg.evaluations().evaluations] == ["owls", "hybrid"]
    with pytest.raises(NotFound):
        kg.delete_evaluation("text")
    (evaluations / "cut.json").write_text("{")
    assert kg.delete_evaluation("cut").ontology is None, "what cannot be read can go, too"
    assert kg.evaluations().unreadable == []


@pytest.mark.parametrize(
    ("scope", "ontologies", "sees"),
    [("read", None, False), ("write", None, False), ("admin", ["bees"], False), ("admin", None, True)],
)
def test_only_unrestricted_administrators_see_the_machine(
    kg: KgClient,
    service: Service,
    evaluations: Path,
    scope: KeyScope,
    ontologies: list[str] | None,
    *,
    sees: bool,
) -> None:
    made = measured("text", [1], ontology="bees", machine={"system": "Linux-of-mine"})
    save(evaluations, "here", made)
    key = kg.create_key("ada", scope=scope, ontologies=ontologies).key
    with sending(service, key) as http, signed_in(service, key) as pages:
        answers = [http.get("/evaluations/here"), pages.get("/ui/evaluations/one/here")]
    assert [each.status_code for each in answers] == [200, 200]
    assert ["Linux-of-mine" in each.text for each in answers] == [sees, sees]


@pytest.mark.usefixtures("evaluations")
def test_deletion_needs_write_scope_and_is_audited(kg: KgClient, service: Service) -> None:
    reading, writing = (kg.create_key(scope, scope=scope).key for scope in ("read", "write"))
    with sending(service, reading) as http:
        problem(http.delete("/evaluations/text"), 403)
    with sending(service, writing) as http:
        assert http.delete("/evaluations/text").json() == {"name": "text", "ontology": "bees"}
    wait_until(lambda: bool(kg.audit("write").entries), 20, lambda: "")
    (entry,) = kg.audit("write").entries
    assert (entry.method, entry.path) == ("DELETE", "/evaluations/text")
    assert entry.outcome == {"name": "text", "ontology": "bees"}
