"""Measuring from a page: what was judged is asked, and the run stands among the others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from kg_api.client import KgClient
from tests.support.running import Service

WAGGLE = "waggle dance"


@pytest.fixture(autouse=True)
def results(service: Service) -> Iterator[Path]:
    """Where results go; empty afterwards."""
    folder = service.log.parent / "home" / "evaluations"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.usefixtures("ids")
def test_judged_questions_are_measured_and_compared(page: Page, kg: KgClient, results: Path) -> None:
    wrong, right = kg.search_sources(WAGGLE, mode="text").sources[:2]
    assert wrong.document == right.document, "what is right is told by passages"
    kg.judge("notes", question=WAGGLE, source_id=wrong.source_id, relevance=0)
    kg.judge("notes", question=WAGGLE, source_id=right.source_id, relevance=2)
    kg.judge("notes", question="unanswered", source_id=right.source_id, relevance=0)
    page.goto("/ui/evaluations?ontology=notes")
    page.get_by_label("meaning (vector)").uncheck()
    page.get_by_role("button", name="Measure").click()
    expect(page.locator("h1")).to_have_text("2 runs compared")
    expect(page.locator(".where")).to_contain_text("1 question of judged in notes")
    expect(page.locator("[aria-label='Questions, a table'] tbody th")).to_have_text([WAGGLE])
    saved = kg.evaluations("notes").evaluations
    assert {each.mode for each in saved} == {"text", "hybrid"}
    assert saved[0].compared_by == saved[1].compared_by
    (text,) = [kg.evaluation(each.name) for each in saved if each.mode == "text"]
    assert (text.metrics["mrr@10"], text.metrics["hit_rate@1"]) == (0.5, 0.0)
    assert (text.data.asked, text.data.documents) == (1, 1)
    assert text.data.notes == ["1 question left out: nothing was judged to answer"]
    assert text.config["ontology"] == "notes"
    assert text.config["space"]["provider"] == "deterministic"
    assert len(list(results.glob("*.answers.jsonl"))) == 2
    assert list(results.glob("*.partial*")) == []


@pytest.mark.usefixtures("ids")
def test_where_nothing_is_judged_that_is_said(http: httpx.Client, kg: KgClient) -> None:
    assert "No question is judged in notes yet" in http.get("/ui/evaluations?ontology=notes").text
    assert "Choose an ontology above" in http.get("/ui/evaluations").text
    asked = {"ontology": "notes", "mode": "text"}
    answer = http.post("/ui/evaluations/measure", data=asked)
    assert answer.status_code == 422
    assert "is judged to answer a question" in answer.text
    source = kg.search_sources(WAGGLE, mode="text").sources[0].source_id
    kg.judge("notes", question=WAGGLE, source_id=source, relevance=1)
    assert "choose a mode" in http.post("/ui/evaluations/measure", data={"ontology": "notes"}).text
    one = http.post("/ui/evaluations/measure", data=asked)
    assert one.status_code == 303
    assert one.headers["location"].startswith("/ui/evaluations/one/")


@pytest.mark.usefixtures("ids")
def test_what_takes_long_is_sent_once(page: Page, kg: KgClient) -> None:
    source = kg.search_sources(WAGGLE, mode="text").sources[0].source_id
    kg.judge("notes", question=WAGGLE, source_id=source, relevance=1)
    page.goto("/ui/evaluations?ontology=notes")
    expect(page.locator("form.fields")).to_contain_text("it takes up to two minutes")
    expect(page.locator("form.fields")).not_to_contain_text("paid for")
    page.route("**/ui/evaluations/measure", lambda route: route.fulfill(status=204))
    page.get_by_role("button", name="Measure").click()
    expect(page.get_by_role("button", name="Measuring …")).to_be_disabled()
