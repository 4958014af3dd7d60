"""What several ask for at once is drawn once, and who cannot wait is told at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kg_api.blobs.pages import DrawnPages
from kg_api.errors import TooBusy
from kg_api.schemas.images import DrawnPage

PAGE = DrawnPage(1, b"png", 0)


class Draw:
    """Waits until it may end, and counts how often it is begun."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun, self.started, self.end, self.error = 0, threading.Event(), threading.Event(), error

    def __call__(self) -> DrawnPage:
        self.begun += 1
        self.started.set()
        assert self.end.wait(20)
        if self.error:
            raise self.error
        return PAGE


def test_twenty_at_once_are_drawn_once() -> None:
    pages, draw = DrawnPages(30), Draw()
    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(pages.get, "a", draw) for _ in range(20)]
        assert draw.started.wait(20)
        draw.end.set()
        assert {each.result() for each in asked} == {PAGE}
    assert (draw.begun, pages.get("a", Draw(ValueError())), draw.begun) == (1, PAGE, 1)


def test_failed_page_is_drawn_again() -> None:
    pages, failing = DrawnPages(2), Draw(ValueError("broken"))
    failing.end.set()
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            pages.get("a", failing)
    assert (failing.begun, pages.get("a", lambda: PAGE)) == (2, PAGE)


def test_too_many_waiting_are_refused() -> None:
    pages, draw = DrawnPages(1), Draw()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(pages.get, "a", draw)
        assert draw.started.wait(20)
        with pytest.raises(TooBusy, match="wait for this page"):
            pages.get("a", draw)
        draw.end.set()
        assert asked.result() == PAGE
