from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest

from kg_api.errors import ConfigurationError
from kg_api.local import processes
from kg_api.local.processes import LOOPBACK, Home, find_free_port, is_free, open_listener
from kg_api.settings import Settings, load_settings
from kg_api.web import serve
from kg_api.web.serve import _listen


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path).create()


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("KG_API__PORT", raising=False)
    return load_settings()


def asking_for(port: int, settings: Settings) -> Settings:
    return settings.model_copy(update={"api": settings.api.model_copy(update={"port": port})})


def port_of(listening: socket.socket) -> int:
    with listening:
        return int(listening.getsockname()[1])


def test_managed_service_moves_to_free_port(
    home: Home, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_listener(LOOPBACK, find_free_port())) as taken:
        port = taken.getsockname()[1]
        home.remember(api=port)
        monkeypatch.setattr(serve, "DEFAULT_PORT", port)
        assert port_of(_listen(settings, home, managed=True)) != port
    assert port_of(_listen(settings, home, managed=True)) == port


@pytest.mark.parametrize("managed", [True, False])
def test_set_port_that_is_taken_names_its_holder(home: Home, settings: Settings, *, managed: bool) -> None:
    with closing(open_listener(LOOPBACK, find_free_port())) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"port {port} .* is taken by .*KG_API__PORT"):
            _listen(asking_for(port, settings), home, managed=managed)


def test_address_of_other_machine_is_named(
    home: Home, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_answers", lambda *_: False)
    elsewhere = settings.model_copy(update={"api": settings.api.model_copy(update={"host": "192.0.2.1"})})
    with pytest.raises(ConfigurationError, match=r"cannot listen on 192\.0\.2\.1"):
        _listen(elsewhere, home, managed=True)


def test_port_is_taken_as_soon_as_one_listens() -> None:
    port = find_free_port()
    with closing(open_listener(LOOPBACK, port)):
        assert not is_free(port)
        with pytest.raises(OSError, match="in use"):
            open_listener(LOOPBACK, port)
    assert is_free(port)
