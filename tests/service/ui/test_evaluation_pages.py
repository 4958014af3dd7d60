from pathlib import Path

import httpx
import pytest
from lxml.html import HtmlElement
from playwright.sync_api import Page, expect

from kg_api.client import KgClient
from tests.service.ui.test_pages import shown, words
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


SEARCH = "/ui/search?q=waggle+dance&mode=text&judging=1"


@pytest.mark.usefixtures("ids")
def test_hits_are_judged_without_leaving_the_page(page: Page, kg: KgClient) -> None:
    page.goto("/ui/search?q=waggle+dance&mode=text")
    expect(page.locator(".judging")).to_have_count(0)
    page.get_by_text("Rate these results").click()
    hit = page.locator(".hits .hit").first
    hit.get_by_role("button", name="Partly").click()
    expect(hit.get_by_role("button", name="Partly")).to_have_attribute("aria-pressed", "true")
    expect(hit.get_by_role("button", name="Partly")).to_be_focused()
    assert [each.relevance for each in kg.judgements("notes", "waggle dance").judgements] == [1]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(hit.get_by_role("button", name="Yes")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(page.locator(".hits .hit").first.get_by_role("button", name="Yes")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.fill("#q", "dance")
    expect(page).to_have_url("/ui/search?q=dance&mode=text&judging=1")
    expect(page.locator("[aria-pressed=true]")).to_have_count(0)
    page.fill("#q", "waggle dance")
    page.locator(".hits .hit").first.get_by_role("button", name="Undo").click()
    expect(page.locator("[aria-pressed=true]")).to_have_count(0)
    assert kg.judgements("notes").total == 0


@pytest.mark.usefixtures("ids")
def test_rating_works_without_scripts(http: httpx.Client, kg: KgClient) -> None:
    (to,) = shown(http, SEARCH).xpath("//li[@class='hit'][1]/h2/a/@href")
    forms = shown(http, to).xpath("//form[@class='judging']")
    assert len(forms) == len(shown(http, to).xpath("//section[contains(@class, 'passage')]"))
    answer = http.post(forms[-1].get("action"), data={**dict(forms[-1].form_values()), "relevance": "1"})
    assert answer.status_code == 303
    there = shown(http, answer.headers["location"])
    (pressed,) = there.xpath("//section[contains(@class, 'passage')][last()]//button[@aria-pressed='true']")
    assert words([pressed]) == ["Partly"]
    assert [each.relevance for each in kg.judgements("notes", "waggle dance").judgements] == [1]
    assert shown(http, to.replace("judging=1", "")).xpath("//form[@class='judging']") == []
    elsewhere = {**dict(forms[-1].form_values()), "relevance": "1", "back": "https://elsewhere.example/"}
    assert http.post(forms[-1].get("action"), data=elsewhere).headers["location"] == "/ui/search"
