from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from lxml.html import document_fromstring
from playwright.sync_api import Browser, expect

from kg_api.graph.client import Graph
from tests.neo4j_server import Neo4jServer
from tests.service.ui.test_pages import HTMX, shown, words
from tests.support.embedders import small_embedder
from tests.support.embedding_server import EmbeddingServer
from tests.support.running import Service, serve

SIZE = str(small_embedder().identity.dimensions)
"""Use the same dimensions, so that the vector index can be used by other tests."""
ELSEWHERE = "0.0.0.0"
OLLAMA = {"OPENAI_EMBED_MODEL": "words", "KG_EMBEDDING__MAX_TOKENS": "512"}
"""Model that has no price and is used on this machine."""
TYPED = "/ui/search?q=lease&typing=keys"


OVERVIEW = "/ui/search/overview"


@pytest.fixture(scope="module")
def provider() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def beginning() -> Callable[[], object]:
    return lambda: None


@pytest.fixture
def paid(server: Neo4jServer, graph: Graph, provider: EmbeddingServer, tmp_path: Path) -> Iterator[Service]:
    assert graph, "it is empty"
    running = serve_with(server, tmp_path, provider.openai_url.replace("127.0.0.1", ELSEWHERE))
    body = {"ontology": "notes", "document": "a.md", "text": "The worker renews its lease.\n"}
    assert httpx.post(f"{running.url}/documents", json=body, timeout=60).status_code == 202
    provider.requests.clear()
    yield running
    assert running.stop() == 0, running.output()


def serve_with(server: Neo4jServer, folder: Path, address: str, **more: str) -> Service:
    openai = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "sk-x", "OPENAI_EMBED_DIMS": SIZE}
    return serve(server, folder, KG_EMBEDDING__PROVIDER="openai", **openai, **more)


def test_typing_pauses_send_no_paid_requests(
    paid: Service, provider: EmbeddingServer, browser: Browser
) -> None:
    with httpx.Client(base_url=paid.url, timeout=60) as http:
        typed = http.get(TYPED, headers=HTMX)
        part = document_fromstring(typed.text)
        assert "Keyword results. Press Enter" in " ".join(words(part.xpath("//p[@class='note']")))
        assert typed.headers["hx-replace-url"] == "/ui/search?q=lease", "the address is of the whole search"
        assert "mode=text" in part.xpath("//li[@class='hit']/h2/a/@href")[0]
        assert len(provider.requests) == 0
        assert "Keyword search while you type" in " ".join(words([shown(http, OVERVIEW)]))
        assert "Keyword search while you type" not in " ".join(words([shown(http, f"{OVERVIEW}?mode=text")]))
        entered = http.get("/ui/search?q=lease", headers=HTMX).text
        assert "Keyword results" not in entered
        assert len(provider.requests) == 1
    provider.requests.clear()
    see_in_a_browser(paid, provider, browser)


def test_local_model_is_queried_at_each_pause(
    server: Neo4jServer, graph: Graph, provider: EmbeddingServer, tmp_path: Path
) -> None:
    """If the provider is local, such as Ollama, you do not have to pay for it."""
    assert graph, "it is empty"
    running = serve_with(server, tmp_path, provider.openai_url, **OLLAMA)
    with httpx.Client(base_url=running.url, timeout=60) as http:
        assert "Keyword search while you type" not in " ".join(words([shown(http, OVERVIEW)]))
        assert "Keyword results" not in http.get(TYPED, headers=HTMX).text
    assert running.stop() == 0, running.output()


def see_in_a_browser(paid: Service, provider: EmbeddingServer, browser: Browser) -> None:
    context = browser.new_context(base_url=paid.url)
    page = context.new_page()
    page.goto("/ui/search")
    expect(page.locator("#paid")).to_contain_text("Keyword search while you type")
    page.keyboard.type("renews lease", delay=150)
    expect(page.locator("#results .note")).to_contain_text("Keyword results. Press Enter")
    expect(page.locator(".hits .hit")).to_have_count(1)
    assert len(provider.requests) == 0
    page.keyboard.type("s")
    page.keyboard.press("Enter")
    expect(page.locator("#results .note", has_text="Keyword results")).to_have_count(0)
    page.wait_for_timeout(1000)
    expect(page.locator("#results .note", has_text="Keyword results")).to_have_count(0)
    assert len(provider.requests) == 1, "what was typed just before Enter is not looked for once more"
    context.close()
