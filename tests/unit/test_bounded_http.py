"""A reply that comes in drops: the time-out is for all of it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from types import ModuleType

import httpx
import httpx2
import pytest

from kg_api.bounded_http import bounded_client

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
    assert time.monotonic() - begun < 3
