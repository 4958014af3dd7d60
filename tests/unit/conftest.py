"""Unit tests reach nothing beyond this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _closed_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections go to servers of the tests alone."""
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _local_only(getattr(socket.socket, name)))


def _local_only(connect: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and not ipaddress.ip_address(address[0]).is_loopback:
            raise RuntimeError(f"a unit test connects to {address}")
        return connect(self, address)

    return guarded
