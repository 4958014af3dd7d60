"""A reply that comes in drops: the time-out is for all of it."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from types import ModuleType

import httpx
import httpx2
import pytest
from pydantic import SecretStr

from kg_api.errors import EmbeddingFailed, LlmFailed, RerankUnavailable
from kg_api.providers.chat import Prompt
from kg_api.providers.cohere_rerank import open_cohere
from kg_api.providers.http import MIB, _inflate, bounded_client, reply_of_at_most
from kg_api.providers.openai_chat import open_chat
from kg_api.providers.remote_rerank import open_endpoint
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


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_a_reply_in_drops_is_broken_off_in_time(dripping: str, library: ModuleType) -> None:
    begun = time.monotonic()
    with bounded_client(library) as client, pytest.raises(library.ReadTimeout):
        client.get(dripping, timeout=0.5)
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
    tracemalloc.start()
    try:
        with pytest.raises(error, match=r"sends (far )?more than"):
            ask(flooding)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * MIB


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 3 * 65536, 10**6 + 7])
@pytest.mark.parametrize("cut", [1, 7, 1000, 10**7])
def test_whatever_is_packed_comes_out_whole(size: int, cut: int) -> None:
    for content in (bytes(size), bytes(at * at % 251 for at in range(size))):
        packed = gzip.compress(content)
        parts = [packed[at : at + cut] for at in range(0, len(packed), cut)]
        assert b"".join(_inflate(iter(parts))) == content
    assert list(_inflate(iter([]))) == []
    with pytest.raises(zlib.error, match="in the middle"):
        list(_inflate(iter([gzip.compress(b"a" * 100)[:-9]])))


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_a_packed_reply_that_fits_is_unpacked(library: ModuleType) -> None:
    packed = gzip.compress(b"a" * MIB)
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def send(connection: socket.socket) -> None:
            connection.sendall(PACKED + f"Content-Length: {len(packed)}\r\n\r\n".encode() + packed)

        threading.Thread(target=flood, args=(listening, send), daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with bounded_client(library) as client:
            assert client.get(address, timeout=5).content == b"a" * MIB
            with reply_of_at_most(MIB - 1), pytest.raises(library.TransportError, match="longer than"):
                client.get(address, timeout=5)


def test_what_is_not_packed_as_asked_for_is_refused() -> None:
    def send(connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\n"
        connection.sendall(head + b"x")

    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        threading.Thread(target=flood, args=(listening, send), daemon=True).start()
        with bounded_client(httpx) as client, pytest.raises(httpx.RemoteProtocolError, match="not asked for"):
            client.get(f"http://127.0.0.1:{listening.getsockname()[1]}/", timeout=5)
