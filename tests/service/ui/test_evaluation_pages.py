from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from lxml.html import HtmlElement
from playwright.sync_api import Page, expect

from tests.service.ui.test_pages import shown
from tests.support.evaluations import measured, save

pytestmark = pytest.mark.usefixtures("http", "evaluations")


def told_by(page: HtmlElement) -> str:
    return " ".join(str(page.text_content()).split())


def test_two_runs_are_chosen_by_keyboard_and_compared(page: Page) -> None:
    page.goto("/ui/evaluations")
    for name in ("text", "hybrid"):
        page.locator(f"input[value={name}]").focus()
        page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/ui/evaluations/compare?name=hybrid&name=text")
    expect(page.locator("h1")).to_have_text("2 runs compared")
    row = page.locator("[aria-label='Differences, a table'] tbody tr", has_text="mrr@10")
    expect(row).to_contain_text("0, 3, 9")
    expect(row).to_contain_text("worse")
    expect(page.locator(".curves polyline")).to_have_count(2)


def test_questions_are_sorted_by_a_measure(page: Page, evaluations: Path) -> None:
    slow = measured("slow", [1, 2, 0], ontology="bees")
    save(evaluations, "slow", slow.model_copy(update={"query_ms": {"q0": 1.0, "q1": 9.0, "q2": 5.0}}))
    page.goto("/ui/evaluations/one/slow")
    expect(page.locator(".curves polyline")).to_have_count(4)
    rows = page.locator("[aria-label='Questions, a table'] tbody tr")
    expect(rows.first).to_contain_text("What is 2?")
    page.locator("thead a", has_text="ms").click()
    expect(rows.first).to_contain_text("What is 1?")
    expect(page.locator("th[aria-sort=descending]")).to_have_text("ms")


def test_incomparable_or_unreadable_results_are_reported(http: httpx.Client, evaluations: Path) -> None:
    (evaluations / "<cut>.json").write_text("{")
    page = shown(http, "/ui/evaluations")
    assert "<cut> is not a result of `kg eval run`" in told_by(page)
    assert "differ in data and questions" in http.get("/ui/evaluations/compare?name=text&name=owls").text
    for asked in ("", "?name=text"):
        answer = http.get(f"/ui/evaluations/compare{asked}")
        assert answer.status_code == 422
        assert "Select two or more results" in answer.text
    assert http.get("/ui/evaluations/one/none").status_code == 404
    assert http.get("/ui/evaluations/one/text?by=colour").status_code == 422
    assert http.get("/ui/evaluations/compare?name=text&name=hybrid&by=colour").status_code == 422
