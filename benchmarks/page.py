"""Measure the search page in Chromium, and compare it with REST.

Prints one JSON object of milliseconds:

- first paint of `/ui/search` in a new browser, next to that of a page of one line, with the time of the
  first byte and the bytes of the visit
- time from the last key to keyword results, without the delay that the page waits after a key
- time of the part of the page with the results, and of the same searches over REST, alternating
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.stack import Stack, machine, stack

QUESTION_WORDS: Final = 4
VISITS, TYPED, ASKED = 20, 30, 200
PAUSE_MS: Final = 50
"""Delay of the search box after a key (templates/search/page.html)."""
OPENING_SECONDS: Final = 0.8
"""Time between opening a tab and its first page, so that the process of the tab runs."""
PAINT: Final = """() => {
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  return {ms: paint.startTime, first: all[0].responseStart,
    bytes: all.reduce((sum, each) => sum + each.transferSize, 0)};
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of documents")
    chosen = parser.parse_args()
    with stack() as running:
        running.kg("ingest", str(chosen.folder), "--ontology", "notes", "--wait")
        running.rest()
        questions = _questions(chosen.folder)
        print(json.dumps({"machine": machine(), **_measure(running, questions)}, indent=2))


def _measure(running: Stack, questions: Sequence[str]) -> dict[str, Any]:
    address = running.home.build_api_url() or ""
    found = _hits(address, questions[:ASKED])
    with sync_playwright() as playwright, _one_line() as bare:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        visits, limits = list[dict[str, float]](), list[dict[str, float]]()
        for _ in range(VISITS + 1):
            visits.append(_visit(browser, f"{address}/ui/search"))
            limits.append(_visit(browser, bare))
        typed = _typed(browser, address, questions[:TYPED])
        browser.close()
    return {
        "first paint": _told([each["ms"] for each in visits[1:]]),  # the first starts the browser
        "its first byte": _told([each["first"] for each in visits[1:]]),
        "first paint of one line": _told([each["ms"] for each in limits[1:]]),
        "bytes of a first visit": visits[0]["bytes"],
        "typed until shown": _told([each - PAUSE_MS for each in typed]),
        **found,
    }


def _questions(folder: Path) -> list[str]:
    """Make questions of random words of the documents."""
    words = sorted(
        {
            word
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            for word in path.read_text("utf-8", "replace").split()
            if word.isalpha()
        }
    )
    dice = random.Random(3)
    return [" ".join(dice.sample(words, QUESTION_WORDS)) for _ in range(ASKED)]


def _hits(address: str, questions: Sequence[str]) -> dict[str, Any]:
    """Time the same searches over REST and as a part of the page, alternating."""
    taken: dict[str, list[float]] = {"REST": [], "part of the page": []}
    with httpx.Client(base_url=address, timeout=60) as http:
        for at, question in enumerate(questions):
            body = {"query_text": question, "limit": 10, "include_concepts": True}
            asks: list[tuple[str, Callable[[], httpx.Response]]] = [
                ("REST", lambda body=body: http.post("/queries/sources/search", json=body)),
                (
                    "part of the page",
                    lambda question=question: http.get(
                        "/ui/search", params={"q": question}, headers={"HX-Request": "true"}
                    ),
                ),
            ]
            for name, ask in asks if at % 2 else reversed(asks):
                begun = time.perf_counter()
                ask().raise_for_status()
                taken[name].append((time.perf_counter() - begun) * 1000)
    return {name: _told(values) for name, values in taken.items()}


def _visit(browser: Browser, address: str) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    time.sleep(OPENING_SECONDS)
    page.goto(address, wait_until="load")
    while not page.evaluate("performance.getEntriesByName('first-contentful-paint').length"):
        time.sleep(0.02)  # playwright's own waiting may evaluate a string, which the page's policy forbids
    seen = page.evaluate(PAINT)
    context.close()
    return seen


class _OneLine(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>one line</title><p>One line.")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass


@contextmanager
def _one_line() -> Generator[str]:
    """Serve a page of one line."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _OneLine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def _typed(browser: Browser, address: str, questions: Sequence[str]) -> list[float]:
    """Time from the last key to the results of the question."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{address}/ui/search")
    taken = [_ask(page, question) for question in questions]
    context.close()
    return taken


def _ask(page: Page, question: str) -> float:
    page.fill("#q", question[:-1])
    page.press("#q", "End")
    begun = time.perf_counter()
    page.keyboard.type(question[-1])
    page.wait_for_url(lambda url: httpx.URL(url).params.get("q") == question)
    page.wait_for_selector(".hit")
    return (time.perf_counter() - begun) * 1000


def _told(values: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(values, [50, 95])
    return {"p50": round(float(p50), 1), "p95": round(float(p95), 1), "most": round(max(values), 1)}


if __name__ == "__main__":
    main()
