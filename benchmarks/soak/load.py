"""What is done to a kg all the time during a soak: everything that people, programs and browsers do."""

from __future__ import annotations

import io
import itertools
import random
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import anyio
import httpx
from mcp.client.client import Client
from PIL import Image

from benchmarks.storm.faults import Background
from kg_api.client import KgClient
from kg_api.errors import NotFound
from kg_api.schemas.base import build_document_id

ONTOLOGY = "soak"
KEPT_DOCUMENTS = 40
"""Those that come replace the oldest ones, so that kg holds as much at the end as at the beginning."""
EVENTS_READ = 3
CALLS_A_SESSION = 5


@dataclass(frozen=True)
class Target:
    """What is soaked, and with which words."""

    url: str
    phrases: Sequence[str]
    texts: Sequence[str]


class Doing(Background):
    """One kind of use, again and again; failures are counted by what they say."""

    def __init__(self, name: str, once: Callable[[], object], pause: float) -> None:
        super().__init__()
        self.name = name
        self.done = 0
        self.failures: Counter[str] = Counter()
        self._once, self._pause = once, pause

    def step(self) -> float:
        """Do it once."""
        try:
            self._once()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted and shown
            self.failures[f"{type(error).__name__}: {error}"[:300]] += 1
        self.done += 1
        return self._pause


@contextmanager
def everything(target: Target, pause: float) -> Generator[list[Doing]]:
    """Do all there is, each kind in a thread of its own, until the context ends."""
    with ExitStack() as opened:
        kinds = {
            "searches": _searching(opened, target),
            "reading": _reading(opened, target),
            "documents": _changing(opened, target),
            "pictures": _pictures(opened, target),
            "pages": _browsing(opened, target),
            "events": _following(opened, target),
            "mcp": _agent(target),
        }
        yield [opened.enter_context(Doing(name, once, pause)) for name, once in kinds.items()]


def _searching(opened: ExitStack, target: Target) -> Callable[[], object]:
    client, dice = opened.enter_context(KgClient(target.url)), random.Random(1)

    def once() -> None:
        phrase = dice.choice(target.phrases)
        client.search_sources(phrase, limit=10)
        client.hybrid_search(phrase)
        client.search_sources(phrase, mode="text", limit=10)

    return once


def _reading(opened: ExitStack, target: Target) -> Callable[[], object]:
    client, dice = opened.enter_context(KgClient(target.url)), random.Random(2)

    def once() -> None:
        hits = client.search_sources(dice.choice(target.phrases), limit=3).sources
        for hit in hits[:1]:
            with suppress(NotFound):  # deleted meanwhile
                client.related_sources(hit.source_id)
        client.documents(limit=20)
        client.embedding_status(ONTOLOGY)

    return once


def _changing(opened: ExitStack, target: Target) -> Callable[[], object]:
    client, numbers = opened.enter_context(KgClient(target.url)), itertools.count()

    def once() -> None:
        number = next(numbers)
        text = f"Number {number}.\n\n{target.texts[number % len(target.texts)]}"
        client.ingest_text(text, ontology=ONTOLOGY, document=f"{number}.txt")
        with suppress(NotFound):
            client.delete_document(build_document_id(ONTOLOGY, f"{number - KEPT_DOCUMENTS}.txt"))

    return once


def _pictures(opened: ExitStack, target: Target) -> Callable[[], object]:
    client, numbers = opened.enter_context(KgClient(target.url)), itertools.count()

    def once() -> None:
        number = next(numbers)
        drawn = io.BytesIO()
        Image.new("RGB", (64, 48), (number % 256, number // 256 % 256, 90)).save(drawn, "PNG")
        client.ingest_bytes(drawn.getvalue(), ontology=ONTOLOGY, document=f"{number}.png")
        with suppress(NotFound):
            client.delete_document(build_document_id(ONTOLOGY, f"{number - KEPT_DOCUMENTS}.png"))

    return once


def _browsing(opened: ExitStack, target: Target) -> Callable[[], object]:
    http, dice = opened.enter_context(httpx.Client(base_url=target.url, timeout=60)), random.Random(3)

    def once() -> None:
        found = http.get("/ui/search", params={"q": dice.choice(target.phrases), "ontology": ONTOLOGY})
        found.raise_for_status()
        for page in ("/ui/documents", "/ui/concepts", "/ui/jobs"):
            http.get(page).raise_for_status()

    return once


def _following(opened: ExitStack, target: Target) -> Callable[[], object]:
    """Opens a stream of events, reads a little, and goes away without a word."""
    http = opened.enter_context(httpx.Client(base_url=target.url, timeout=60))

    def once() -> None:
        with http.stream("GET", "/jobs/events") as answer:
            answer.raise_for_status()
            for _ in zip(range(EVENTS_READ), answer.iter_lines(), strict=False):
                pass

    return once


def _agent(target: Target) -> Callable[[], object]:
    dice = random.Random(4)

    async def session() -> None:
        async with Client(f"{target.url}/mcp") as client:
            for _ in range(CALLS_A_SESSION):
                answer = await client.call_tool("search_sources", {"query": dice.choice(target.phrases)})
                if answer.is_error:
                    raise RuntimeError(str(answer.content)[:200])

    return lambda: anyio.run(session)
