"""A reply that comes in drops: the time-out is for all of it."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from pydantic import SecretStr

from kg_api.errors import EmbeddingFailed, LlmFailed, RerankUnavailable
from kg_api.providers.chat import Prompt
from kg_api.providers.http import MIB, JsonClient, Provider, Variables
from kg_api.providers.openai_chat import open_chat
from kg_api.providers.remote_embedding import EMBEDDING
from kg_api.providers.remote_rerank import open_cohere, open_endpoint
from kg_api.providers.retrying import RetryableError
from kg_api.sections import CohereSettings, LlmSettings, RerankSettings
from kg_api.settings import load_settings
from tests.support.providers import Asking

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture
def dripping() -> Iterator[str]:
    """An address whose reply gets a byte every tenth of a second."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        thread = threading.Thread(target=drip, args=(listening,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        thread.join(15)


def drip(listening: socket.socket) -> None:
    with closing(listening.accept()[0]) as connection:
        connection.recv(1000)
        connection.sendall(HEAD)
        for _ in range(100):
            time.sleep(0.1)
            try:
                connection.sendall(b"x")
            except OSError:  # the client has gone
                return


def client_of(address: str) -> JsonClient:
    provider = Provider(EMBEDDING, Variables("A_MODEL", "AN_ADDRESS", "A_KEY"), "m", address, None)
    return JsonClient(provider, "/")


def test_a_reply_in_drops_is_broken_off_in_time(dripping: str) -> None:
    begun = time.monotonic()
    client = client_of(dripping)
    with pytest.raises(RetryableError, match="in time"):
        client.post({}, 0.5)
    client.close()
    assert time.monotonic() - begun < 9, "a drop comes before each read times out, for 10 s"


LARGE = 300 * MIB
BOMB = gzip.compress(bytes(LARGE), compresslevel=1)
PACKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"


def bomb(connection: socket.socket) -> None:
    """A reply of a megabyte that becomes 300."""
    connection.sendall(PACKED + f"Content-Length: {len(BOMB)}\r\n\r\n".encode() + BOMB)


def endless(connection: socket.socket) -> None:
    """A reply that never ends."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    for _ in range(LARGE // MIB):
        connection.sendall(b" " * MIB)


@pytest.fixture(params=[bomb, endless])
def flooding(request: pytest.FixtureRequest) -> Iterator[str]:
    """An address whose replies are too large."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        threading.Thread(target=flood, args=(listening, request.param), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def flood(listening: socket.socket, send: Callable[[socket.socket], None]) -> None:
    while True:
        try:
            connection = listening.accept()[0]
        except OSError:  # the test has ended
            return
        with closing(connection):
            try:
                connection.recv(65536)
                send(connection)
            except OSError:  # the client has had enough
                continue


def embedded(provider: str) -> Callable[[str], object]:
    def ask(address: str) -> object:
        server = type("At", (), {"url": address, "openai_url": address})
        with Asking(provider, server, timeout=60) as asking:  # pyright: ignore[reportArgumentType]
            return asking.embedder.embed_passages(["a"])

    return ask


def chat(address: str) -> object:
    llm = LlmSettings(model="m", base_url=address)
    return open_chat(load_settings(llm=llm)).ask(Prompt("a", "b", "c", {}))


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
def test_a_reply_without_end_is_broken_off_before_it_fills_the_memory(
    flooding: str, ask: Callable[[str], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ask(flooding)  # what is imported and loaded at the first request is no part of a reply
    tracemalloc.start()
    try:
        with pytest.raises(error, match=r"sends (far )?more than"):
            ask(flooding)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * MIB


def serve(send: Callable[[socket.socket], None]) -> tuple[socket.socket, JsonClient]:
    listening = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=flood, args=(listening, send), daemon=True).start()
    return listening, client_of(f"http://127.0.0.1:{listening.getsockname()[1]}/")


def test_a_packed_reply_that_fits_is_unpacked() -> None:
    packed = gzip.compress(b'"' + b"a" * MIB + b'"')

    def send(connection: socket.socket) -> None:
        connection.sendall(PACKED + f"Content-Length: {len(packed)}\r\n\r\n".encode() + packed)

    listening, client = serve(send)
    with closing(listening), closing(client):
        assert client.post({}, 5).body == "a" * MIB
        with pytest.raises(EmbeddingFailed, match="sends far more than"):
            client.post({}, 5, MIB - 1)


def test_what_is_not_packed_as_asked_for_is_refused() -> None:
    def send(connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\n"
        connection.sendall(head + b"x")

    listening, client = serve(send)
    with closing(listening), closing(client), pytest.raises(RetryableError, match="RemoteProtocolError"):
        client.post({}, 5)


def test_a_packed_reply_that_breaks_off_is_an_error() -> None:
    packed = gzip.compress(b'"' + b"a" * MIB + b'"')[:-9]

    def send(connection: socket.socket) -> None:
        connection.sendall(PACKED + f"Content-Length: {len(packed)}\r\n\r\n".encode() + packed)

    listening, client = serve(send)
    with closing(listening), closing(client), pytest.raises(RetryableError, match="broke off"):
        client.post({}, 5)
