"""Whoever waits for kg sees that it works, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

SIGN = "#working"
SEND_AND_LOOK = """() => new Promise((done) => {
  document.getElementById("to").form.requestSubmit();
  setTimeout(() => done(document.getElementById("working").innerText), 1500);
})"""
"""What the page shows while its form is under way; from outside it can be asked only after that."""

STOP_AND_LOOK = """() => new Promise((done) => {
  const form = document.getElementById("to").form, sign = document.getElementById("working");
  form.dataset.waiting = "Wait";
  form.requestSubmit();
  setTimeout(() => {
    const before = sign.innerText;
    window.stop();
    setTimeout(() => done([before, sign.innerText, form.querySelector("button").disabled]), 500);
  }, 1000);
})"""
"""The sign before and after the load is stopped, as by Escape; and whether the form can be sent again."""


@pytest.mark.usefixtures("http", "ids")
def test_a_search_that_takes_long_says_so(page: Page) -> None:
    held = list[Route]()
    page.goto("/ui/search")
    page.route("**/ui/search?*", lambda route: held.append(route))  # noqa: PLW0108 - a builtin will not do
    page.keyboard.type("Frisch")
    page.keyboard.press("Enter")
    expect(page.locator(SIGN)).to_be_visible()
    expect(page.locator(f"{SIGN} [role=status]")).to_have_text("kg is working on it …")
    held[-1].continue_()
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator(SIGN)).to_be_hidden()


@pytest.mark.usefixtures("http")
def test_a_form_that_takes_long_says_so(page: Page, ids: dict[str, str]) -> None:
    held = list[Route]()
    page.goto(f"/ui/concepts/{ids['waggle dance']}")
    page.fill("#to", "Frisch")
    page.route("**/ui/concepts/*?to=*", lambda route: held.append(route))  # noqa: PLW0108 - a builtin will not do
    assert page.evaluate(SEND_AND_LOOK) == "kg is working on it …"
    held[0].continue_()
    expect(page.locator("h2", has_text="Way to another")).to_be_visible()
    expect(page.locator(SIGN)).to_be_hidden()


@pytest.mark.usefixtures("http")
def test_a_load_that_is_stopped_leaves_no_sign(page: Page, ids: dict[str, str]) -> None:
    page.goto(f"/ui/concepts/{ids['waggle dance']}")
    page.fill("#to", "Frisch")
    page.route("**/ui/concepts/*?to=*", lambda _: None)
    assert page.evaluate(STOP_AND_LOOK) == ["kg is working on it …", "", False]
