"""People with keys of several kinds, who ask all the time; what came that should not have come."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx

from benchmarks.storm.faults import ONTOLOGY, Background
from benchmarks.team.services import Service

OTHER = "other"
"""The ontology of those who may not see the first one."""
TIMEOUT_SECONDS = 60.0
PAUSE_SECONDS = 0.05
WAIT_SECONDS = 0.5
"""After a 503, or when a service is away. Less than Retry-After asks for: that is harder."""

Request = tuple[str, str, Any]
"""Method, path and body."""
Rule = Callable[[httpx.Response], str | None]
"""What is wrong with an answer; None: nothing."""


@dataclass(frozen=True)
class Kind:
    """A kind of client: its key, what it asks, and what may come."""

    name: str
    key: str
    requests: Sequence[Request]
    rule: Rule


def found_in(ontology: str) -> Rule:
    """Only hits of one ontology, and some."""

    def rule(answer: httpx.Response) -> str | None:
        if answer.status_code != HTTPStatus.OK:
            return f"status {answer.status_code}: {answer.text[:300]}"
        hits = answer.json()["sources"]
        foreign = [hit for hit in hits if hit["ontology"] != ontology]
        if foreign:
            return f"{len(foreign)} hits of other ontologies"
        return None if hits else "nothing was found"

    return rule


def refused_with(*statuses: int) -> Rule:
    """Refused, and nothing else."""

    def rule(answer: httpx.Response) -> str | None:
        expected = answer.status_code in statuses and "full_text" not in answer.text
        return None if expected else f"status {answer.status_code}: {answer.text[:300]}"

    return rule


def kinds_of_clients(texts: dict[str, str], keys: dict[str, str]) -> list[Kind]:
    """Readers of one ontology and of another, who asks for what is not theirs, and who has a wrong key."""
    words = sorted({word for text in texts.values() for word in text.split() if word.isalpha()})
    dice = random.Random(5)
    phrases = [" ".join(dice.sample(words, 3)) for _ in range(200)]
    search, hybrid = "/queries/sources/search", "/queries/hybrid"
    everywhere = [("POST", path, {"query_text": each}) for each in phrases for path in (search, hybrid)]
    foreign = [("POST", search, {"query_text": each, "ontology": ONTOLOGY}) for each in phrases]
    return [
        Kind("reader", keys["reader"], everywhere, found_in(ONTOLOGY)),
        Kind("reader of another ontology", keys["other"], everywhere, found_in(OTHER)),
        Kind("asks for what is not theirs", keys["other"], foreign, refused_with(403)),
        Kind("wrong key", "kg_" + "0" * 40, everywhere, refused_with(401, 429)),
    ]


class Client(Background):
    """Asks one service after the other; where one is away, the next one at once."""

    def __init__(self, kind: Kind, services: Sequence[Service], seed: int) -> None:
        super().__init__()
        self.kind = kind
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.taken: list[float] = []
        """Milliseconds of answers other than 503."""
        self._services = services
        self._dice = random.Random(seed)
        self._http = [httpx.Client(base_url=each.url, timeout=TIMEOUT_SECONDS) for each in services]

    def step(self) -> float:
        """Ask once."""
        at = self._dice.randrange(len(self._services))
        request = self._dice.choice(self.kind.requests)
        if self._ask(at, request) or self._ask(1 - at, request):
            return PAUSE_SECONDS
        return WAIT_SECONDS

    def _ask(self, at: int, request: Request) -> bool:
        """Whether it was answered with more than that one shall come again."""
        method, path, body = request
        begun, headers = time.monotonic(), {"Authorization": f"Bearer {self.kind.key}"}
        try:
            answer = self._http[at].request(method, path, json=body, headers=headers)
        except httpx.HTTPError as error:
            self._lost(at, error)
            return False
        self._services[at].note_answer()
        return self._judge(answer, begun)

    def _lost(self, at: int, error: httpx.HTTPError) -> None:
        self.counts["connection lost"] += 1
        if not self._services[at].may_be_away:
            self.wrong.append(f"{self.kind.name}: {error!r} at a service that nobody had killed")

    def _judge(self, answer: httpx.Response, begun: float) -> bool:
        self.counts[str(answer.status_code)] += 1
        if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            if "Retry-After" not in answer.headers:
                self.wrong.append(f"{self.kind.name}: 503 without Retry-After: {answer.text[:300]}")
            return False
        self.taken.append((time.monotonic() - begun) * 1000)
        if amiss := self.kind.rule(answer):
            self.wrong.append(f"{self.kind.name}: {amiss}")
        return True
