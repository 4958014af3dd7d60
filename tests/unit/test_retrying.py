import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from kg_api.errors import EmbeddingFailed, EmbeddingUnavailable, LlmFailed, RerankUnavailable
from kg_api.providers.chat import Prompt
from kg_api.providers.http import MIB, JsonClient, Provider, Variables, is_retryable, retry_after
from kg_api.providers.openai_chat import Chat
from kg_api.providers.remote_embedding import EMBEDDING
from kg_api.providers.remote_rerank import open_cohere, open_endpoint
from kg_api.providers.retrying import RetryableError, RetryPolicy
from kg_api.sections import CohereSettings, LlmSettings, RerankSettings
from kg_api.settings import load_settings
from tests.support.providers import Asking

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Time:
    """Clock that only changes if you call sleep or do some work."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now

    def policy(self, tries: int = 3, **more: float) -> RetryPolicy:
        return RetryPolicy(tries=tries, sleep=self.sleep, clock=self.clock, **more)


@dataclass
class Failing:
    time: Time
    failures: list[Exception]
    seconds: float = 0.0
    left: list[float | None] = field(default_factory=list)

    def __call__(self, left: float | None) -> str:
        self.left.append(left)
        self.time.now += self.seconds
        if self.failures:
            raise self.failures.pop(0)
        return "done"


def gave_up(reason: str, asked: float | None) -> EmbeddingUnavailable:
    return EmbeddingUnavailable(reason, retry_after_seconds=asked)


def test_retry_delays_double_with_jitter() -> None:
    time = Time()
    ask = Failing(time, [RetryableError(f"no {n}") for n in range(9)])
    with pytest.raises(EmbeddingUnavailable, match="no 2") as raised:
        time.policy().call(ask, gave_up)
    assert raised.value.retry_after_seconds is None
    assert len(ask.left) == 3
    assert 1 <= time.slept[0] <= 1.25
    assert 2 <= time.slept[1] <= 2.5


@given(st.floats(0, 60))
def test_delay_is_at_least_retry_after(asked: float) -> None:
    time = Time()
    assert time.policy().call(Failing(time, [RetryableError("busy", asked)]), gave_up) == "done"
    assert time.slept[0] >= max(asked, 1)
    assert time.slept[0] <= max(asked, 1) + 0.25


@pytest.mark.parametrize(
    ("delays", "seconds", "until", "told", "waits"),
    [([60.5], 0.0, None, 60.5, 0), ([4.5], 0.6, 105.0, 4.5, 0), ([1, 2, 30], 0.0, None, 30, 2)],
    ids=["over a minute", "beyond the deadline", "the last failure"],
)
def test_failure_contains_the_delay_that_is_not_waited_for(
    delays: list[float], seconds: float, until: float | None, told: float, waits: int
) -> None:
    time = Time(now=100)
    ask = Failing(time, [RetryableError("busy", each) for each in delays], seconds)
    with pytest.raises(EmbeddingUnavailable) as raised:
        time.policy().call(ask, gave_up, until=until)
    assert (raised.value.retry_after_seconds, len(time.slept)) == (told, waits)
    assert raised.value.__cause__ is raised.value.__context__ is None


PASSING = {408, 409, 425, 429, 499, 500, 502, 503, 504, 520, 529}
FINAL = {200, 301, 400, 401, 402, 403, 404, 405, 413, 422, 424, 501, 505}


def test_some_statuses_may_pass() -> None:
    assert {each for each in PASSING | FINAL if is_retryable(each)} == PASSING


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 1.5 ", 1.5),
        ("999999999", 86_400),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90),
        ("Sun, 01 Mar 2026 12:00:05 -0000", 5),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0),
        (format_datetime(NOW + timedelta(days=9), usegmt=True), 86_400),
        *((value, None) for value in ("", "soon", "-1", "nan")),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"


@contextmanager
def serving(send: Callable[[socket.socket], None]) -> Generator[str]:
    def answer() -> None:
        with suppress(OSError):  # the test has ended
            while connection := listening.accept()[0]:
                with closing(connection), suppress(OSError):  # the client has had enough
                    connection.recv(65536)
                    send(connection)

    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def client_of(send: Callable[[socket.socket], None]) -> Generator[JsonClient]:
    with serving(send) as address:
        variables = Variables("A_MODEL", "AN_ADDRESS", "A_KEY")
        client = JsonClient(Provider(EMBEDDING, variables, "m", f"{address}/", None), "/")
        with closing(client):
            yield client


def drip(connection: socket.socket) -> None:
    connection.sendall(HEAD)
    for _ in range(100):
        time.sleep(0.1)
        connection.sendall(b"x")


def test_slow_trickling_reply_times_out() -> None:
    begun = time.monotonic()
    with client_of(drip) as client, pytest.raises(RetryableError, match="in time"):
        client.post({}, 0.5)
    assert time.monotonic() - begun < 9, "a drop comes before each read times out, for 10 s"


LARGE = 300 * MIB


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    for _ in range(LARGE // MIB):
        connection.sendall(b" " * MIB)


def embedded(provider: str) -> Callable[[str], object]:
    def ask(address: str) -> object:
        server = type("At", (), {"url": address, "openai_url": address})
        with Asking(provider, server, timeout=60) as asking:  # pyright: ignore[reportArgumentType]
            return asking.embedder.embed_passages(["a"])

    return ask


def chat(address: str) -> object:
    llm = LlmSettings(model="m", base_url=address)
    return Chat(load_settings(llm=llm), RetryPolicy()).ask(Prompt("a", "b", "c", {}))


def by_cohere(address: str) -> object:
    own = CohereSettings(base_url=address, api_key=SecretStr("co-key"))
    return open_cohere(load_settings(cohere=own)).score("a", ["b"], seconds=60)


def by_endpoint(address: str) -> object:
    own = RerankSettings(base_url=address)
    return open_endpoint(load_settings(rerank=own)).score("a", ["b"], seconds=60)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (embedded("openai"), EmbeddingFailed),
        (embedded("nomic"), EmbeddingFailed),
        (chat, LlmFailed),
        (by_cohere, RerankUnavailable),
        (by_endpoint, RerankUnavailable),
    ],
    ids=["openai", "nomic", "chat", "cohere", "endpoint"],
)
def test_endless_reply_is_stopped_with_bounded_memory(
    ask: Callable[[str], object], error: type[Exception]
) -> None:
    with serving(endless) as address:
        with pytest.raises(error):
            ask(address)  # what is imported and loaded at the first request is no part of a reply
        tracemalloc.start()
        try:
            with pytest.raises(error, match=r"sends (far )?more (data )?than"):
                ask(address)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 60 * MIB


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_compressed_reply_is_rejected(encoding: str) -> None:
    packed = gzip.compress(bytes(LARGE), compresslevel=1)  # a megabyte that becomes 300

    def send(connection: socket.socket) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(packed)}\r\n\r\n"
        connection.sendall(head.encode() + packed)

    with client_of(send) as client, pytest.raises(RetryableError, match="RemoteProtocolError"):
        client.post({}, 5)
