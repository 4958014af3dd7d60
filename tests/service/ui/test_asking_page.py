import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from lxml.html import HtmlElement, document_fromstring
from playwright.sync_api import Browser, expect

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.service.asking import embedded
from tests.service.ui.test_pages import HOSTILE
from tests.support.embedders import small_embedder
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import quoting
from tests.support.running import Service

LEASES = "# Leases\n\nA worker renews its lease every ten seconds. Another worker takes a lost lease.\n"
QUESTION = "How often does a worker renew its lease?"


@pytest.fixture
def web(writing: Service, graph: Graph, writer: EmbeddingServer) -> Iterator[httpx.Client]:
    """Return an HTTP client for a service that has a language model and one document."""
    ensure_space(graph, small_embedder().identity)
    writer.chat, writer.always, writer.pause = quoting, None, 0.0
    with httpx.Client(base_url=writing.url, timeout=60) as client:
        embedded(graph, client, LEASES, document="leases.md", ontology="handbook")
        writer.requests.clear()
        yield client


def ask(web: httpx.Client, question: str = QUESTION, ontology: str = "") -> HtmlElement:
    answer = web.post("/ui/ask", data={"q": question, "ontology": ontology, "mode": "text"})
    assert answer.status_code == 200, answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return document_fromstring(answer.text)


def test_model_output_is_displayed_as_text(web: httpx.Client, writer: EmbeddingServer) -> None:
    def hostile(body: dict[str, Any]) -> str:
        said = json.loads(quoting(body))
        said["statements"][0]["text"] = HOSTILE
        return json.dumps(said)

    writer.chat = hostile
    page = ask(web, f"{QUESTION} {HOSTILE}")
    assert page.xpath("//script[not(@src)] | //main//img | //@onerror") == []
    assert "<script>alert(1)</script>" in page.xpath("string(//p[@class='statement'])")


def test_the_page_comes_as_its_answer_is_written(web: httpx.Client, writer: EmbeddingServer) -> None:
    writer.pause = 0.05
    form, seen = {"q": QUESTION, "mode": "text"}, list[tuple[float, str]]()
    with web.stream("POST", "/ui/ask", data=form) as answer:
        for piece in answer.iter_text():
            for sought in ("Passages found", 'class="statement"', "</html>"):
                if sought in piece:
                    seen.append((time.monotonic(), sought))
    assert [each for _, each in seen] == ["Passages found", *['class="statement"'] * 2, "</html>"]
    assert seen[2][0] - seen[1][0] > 0.2, "the first was sent while the second was being written"


@pytest.mark.usefixtures("web")
def test_question_is_answered_and_citation_opened(
    browser: Browser, writing: Service, writer: EmbeddingServer
) -> None:
    context = browser.new_context(base_url=writing.url)
    page = context.new_page()
    page.goto("/ui/ask?mode=text")
    page.fill("#q", QUESTION)
    page.press("#q", "Enter")
    expect(page.locator(".statement").first).to_contain_text("every ten seconds")
    expect(page).to_have_url(f"/ui/ask?q={QUESTION.replace(' ', '+').replace('?', '%3F')}&mode=text")
    page.reload()
    expect(page.locator("#q")).to_have_value(QUESTION)
    assert len(writer.requests) == 1
    page.get_by_role("button", name="Ask").click()
    page.locator(".statement .citation").first.click()
    expect(page.locator(".passage.hit")).to_contain_text("every ten seconds")
    context.close()
