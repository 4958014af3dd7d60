"""Adding documents in a real browser: what is said of each try, and of leaving during one."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

pytestmark = pytest.mark.usefixtures("http")


def choose(page: Page, *files: Path, ontology: str = "notes") -> None:
    page.set_input_files("input[type=file]", list(files))
    page.fill("section input[name=ontology]", ontology)
    page.click("section button.main")


@pytest.fixture
def hive(tmp_path: Path) -> Path:
    """A file that is taken."""
    path = tmp_path / "hive.md"
    path.write_text("# Hive\n\nBees live in a hive.\n", encoding="utf-8")
    return path


def test_what_a_former_try_said_is_over(page: Page, hive: Path) -> None:
    page.goto("/ui/documents")
    choose(page, hive, ontology="!!")
    refused = page.locator(".taken li.problem")
    expect(refused).to_contain_text("hive.md: ontology")
    said = refused.inner_text().removeprefix("hive.md: ")
    assert said.count("ontology:") == 1, said
    assert "Unprocessable" not in said
    expect(page.locator(".onward")).to_be_hidden()
    choose(page, hive)
    expect(page.locator(".taken li")).to_have_text(["hive.md: created, 1 passage"])
    expect(page.locator(".taken .problem")).to_have_count(0)
    expect(page.locator("#list tbody tr")).to_contain_text("hive.md")
    page.get_by_role("link", name="Search them").click()
    expect(page).to_have_url("/ui/search?ontology=notes")


def test_leaving_while_files_are_sent_asks(page: Page, hive: Path) -> None:
    held, asked = list[Route](), list[str]()
    page.route("**/ui/documents", lambda route: held.append(route) if is_sent(route) else route.continue_())

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.goto("/ui/documents")
    choose(page, hive)
    expect(page.locator(".taken li")).to_contain_text("being sent")
    page.evaluate("setTimeout(() => location.reload())")
    page.wait_for_timeout(500)
    assert asked == ["beforeunload"]
    held[0].continue_()
    expect(page.locator(".taken li")).to_have_text("hive.md: created, 1 passage")
    expect(page.locator(".onward")).to_be_visible()
    page.reload()
    assert asked == ["beforeunload"], "nothing is sent any more"


def is_sent(route: Route) -> bool:
    return route.request.method == "POST"
