import json
import time
from pathlib import Path
from typing import Any

import pytest

from kg_api.access.proofs import verify_proof
from kg_api.errors import ServiceUnreachable
from kg_api.local import processes
from kg_api.local.processes import Home
from kg_api.settings import load_settings
from kg_cli.terminal.connect import (
    build_auth_headers,
    connect_client,
    find_api_key,
    hide_credentials,
    open_client,
    read_grant,
)

PORT = 8420


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    monkeypatch.delenv("KG_API_URL", raising=False)
    return Home(tmp_path)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the arguments of each client that is opened."""
    clients: list[dict[str, Any]] = []
    monkeypatch.setattr("kg_api.client.KgClient", lambda url, **more: clients.append({"url": url, **more}))
    return clients


@pytest.mark.parametrize(
    ("listens", "address", "is_ours"),
    [
        ("127.0.0.1", "http://127.0.0.1:8420", True),
        ("127.0.0.1", "http://192.168.0.5:8420", False),
        ("192.168.0.5", "http://192.168.0.5:8420", True),
        ("192.168.0.5", "http://192.168.0.5:8421", False),
        ("2001:db8::7", "http://[2001:DB8::7]:8420", True),
        ("Box.example", "http://box.example:8420", True),
        ("0.0.0.0", "http://127.0.0.1:8420", True),
        ("0.0.0.0", "http://192.168.0.5:8420", False),
    ],
)
def test_folder_grant_is_sent_only_to_own_service(
    home: Home, monkeypatch: pytest.MonkeyPatch, listens: str, address: str, is_ours: bool
) -> None:
    processes.announce(home, listens, PORT)
    monkeypatch.setenv("KG_API_URL", address)
    assert (read_grant("/notes", "notes") is not None) == is_ours


def test_the_address_that_kg_up_remembers_is_ours(home: Home) -> None:
    processes.announce(home, "192.168.0.5", PORT)
    home.remember(api=PORT, api_host="192.168.0.5")
    assert read_grant("/notes", "notes")


def test_grant_without_known_host_needs_loopback(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    processes.announce(home, "", PORT)
    home.service_file.write_text('{"services": [{"port": 8420}]}')
    for address, is_ours in (("http://127.0.0.1:8420", True), ("http://:8420", False)):
        monkeypatch.setenv("KG_API_URL", address)
        assert (read_grant("/notes", "notes") is not None) == is_ours


@pytest.mark.parametrize(
    ("listens", "address", "is_sent"),
    [
        ("127.0.0.1", "http://127.0.0.1:8420", True),
        ("0.0.0.0", "http://127.0.0.1:8420", True),
        ("::", "http://[::1]:8420", True),
        *(("127.0.0.1", address, False) for address in ("http://localhost:8420", "http://[::1]:8420")),
        *(("127.0.0.1", address, False) for address in ("https://127.0.0.1:8420", "http://127.0.0.1:99999")),
    ],
)
def test_credentials_are_sent_only_to_the_announced_address(
    home: Home, opened: list[dict[str, Any]], listens: str, address: str, *, is_sent: bool
) -> None:
    """Whoever listens at another one of this machine would be given it."""
    processes.announce(home, listens, PORT)
    connect_client(address, load_settings())
    sign = opened[0]["api_key"]
    assert (sign is not None) == is_sent
    if sign is not None:
        assert verify_proof(sign("GET", "/x"), home.read_folder_key(), time.time(), "GET", "/x")
    assert bool(build_auth_headers(address, load_settings(), "GET", "/x")) == is_sent


def test_service_of_a_home_without_supervisor_is_found(home: Home, opened: list[dict[str, Any]]) -> None:
    """In a container, `kg serve` runs without a supervisor."""
    processes.announce(home, "0.0.0.0", PORT)
    open_client()
    assert opened[0]["url"] == "http://127.0.0.1:8420"


def test_dead_service_is_forgotten_by_next_one(home: Home) -> None:
    processes.announce(home, "127.0.0.1", PORT)
    [entry] = home.read_service_entries()
    home.service_file.write_text(json.dumps({"services": [entry | {"pid": 2**22}]}))
    processes.announce(home, "127.0.0.1", PORT + 1)
    assert [each.port for each in home.list_services()] == [PORT + 1]


def test_only_recorded_addresses_must_prove_their_home(
    home: Home, opened: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    home.create().remember(api=PORT, api_host="127.0.0.1")
    open_client()
    monkeypatch.setenv("KG_API_URL", f"http://127.0.0.1:{PORT}")
    open_client()
    first, second = (each["expected_home"] for each in opened)
    assert (first.instance, second) == (home.read_instance(), None)


def test_other_program_on_the_port_is_named(
    home: Home, opened: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    processes.announce(home, "127.0.0.1", PORT)
    open_client()
    assert "is taken by" in opened[0]["expected_home"].describe_other()
    monkeypatch.setattr(Home, "read_instance", lambda _: None)
    with pytest.raises(ServiceUnreachable, match="never started"):
        open_client()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:8420", "http://127.0.0.1:8420"),
        ("https://me:secret@kg.example/kg", "https://kg.example/kg"),
        ("https://me:sec/re@t@kg.example?key=secret", "https://kg.example"),
    ],
)
def test_displayed_url_contains_no_secrets(address: str, shown: str) -> None:
    """HARDENING 72."""
    assert hide_credentials(address) == shown


def test_second_service_leaves_first_its_rights(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    processes.announce(home, "127.0.0.1", PORT)
    processes.announce(home, "127.0.0.1", PORT + 1)
    for port in (PORT, PORT + 1):
        address = f"http://127.0.0.1:{port}"
        monkeypatch.setenv("KG_API_URL", address)
        assert read_grant("/notes", "notes")
        assert find_api_key(address, load_settings()) is not None
