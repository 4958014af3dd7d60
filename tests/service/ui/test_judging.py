from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Page, expect

from kg_api.client import KgClient
from tests.service.ui.test_pages import shown, words

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
