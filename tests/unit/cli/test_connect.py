from __future__ import annotations

import json
from pathlib import Path

import pytest

from kg_api.client.connection import ExpectedHome
from kg_api.errors import ServiceUnreachable
from kg_api.local import processes
from kg_api.local.processes import Home
from kg_api.settings import load_settings
from kg_cli.terminal.connect import connect_client, find_api_key, grant_to_follow, open_client, shown_address

PORT = 8420


@pytest.mark.parametrize(
    ("listens", "address", "is_ours"),
    [
        ("127.0.0.1", "http://127.0.0.1:8420", True),
        ("127.0.0.1", "http://localhost:8420", True),
        ("127.0.0.1", "http://192.168.0.5:8420", False),
        ("192.168.0.5", "http://192.168.0.5:8420", True),
        ("192.168.0.5", "http://192.168.0.5:8421", False),
        ("192.168.0.5", "http://192.168.0.6:8420", False),
        ("2001:db8::7", "http://[2001:DB8::7]:8420", True),
        ("Box.example", "http://box.example:8420", True),
        ("0.0.0.0", "http://127.0.0.1:8420", True),
        ("0.0.0.0", "http://192.168.0.5:8420", False),
    ],
)
def test_folder_grant_is_sent_only_to_own_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listens: str, address: str, is_ours: bool
) -> None:
    processes.announce(Home(tmp_path), listens, PORT)
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    monkeypatch.setenv("KG_API_URL", address)
    assert (grant_to_follow("/notes", "notes") is not None) == is_ours


def test_the_address_that_kg_up_remembers_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    processes.announce(home, "192.168.0.5", PORT)
    home.remember(api=PORT, api_host="192.168.0.5")
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    monkeypatch.delenv("KG_API_URL", raising=False)
    assert grant_to_follow("/notes", "notes")


def test_grant_without_known_host_needs_loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    processes.announce(home, "", PORT)
    home.service_file.write_text('{"services": [{"port": 8420}]}')
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    for address, is_ours in (("http://127.0.0.1:8420", True), ("http://:8420", False)):
        monkeypatch.setenv("KG_API_URL", address)
        assert (grant_to_follow("/notes", "notes") is not None) == is_ours


@pytest.mark.parametrize(
    ("listens", "address", "is_sent"),
    [
        ("127.0.0.1", "http://127.0.0.1:8420", True),
        ("127.0.0.1", "http://127.0.0.1:8420/", True),
        ("0.0.0.0", "http://127.0.0.1:8420", True),
        ("::", "http://[::1]:8420", True),
        ("127.0.0.1", "http://localhost:8420", False),
        ("127.0.0.1", "http://[::1]:8420", False),
        ("127.0.0.1", "https://127.0.0.1:8420", False),
        ("127.0.0.1", "http://127.0.0.1:8421", False),
        ("127.0.0.1", "http://127.0.0.1:99999", False),
    ],
)
def test_credentials_are_sent_only_to_the_announced_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listens: str, address: str, *, is_sent: bool
) -> None:
    """Whoever listens at another one of this machine would be given it."""
    processes.announce(Home(tmp_path), listens, PORT)
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    sent: list[object] = []
    monkeypatch.setattr("kg_api.client.KgClient", lambda _url, api_key, **_: sent.append(api_key))
    connect_client(address, load_settings())
    assert (sent != [None]) == is_sent


def test_service_of_a_home_without_supervisor_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container, `kg serve` runs without a supervisor."""
    processes.announce(Home(tmp_path), "0.0.0.0", PORT)
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    monkeypatch.delenv("KG_API_URL", raising=False)
    found: list[str] = []
    monkeypatch.setattr("kg_api.client.KgClient", lambda url, **_: found.append(url))
    open_client()
    assert found == ["http://127.0.0.1:8420"]


def test_dead_service_is_forgotten_by_next_one(tmp_path: Path) -> None:
    home = Home(tmp_path)
    processes.announce(home, "127.0.0.1", PORT)
    [entry] = home.service_entries()
    home.service_file.write_text(json.dumps({"services": [entry | {"pid": 2**22}]}))
    processes.announce(home, "127.0.0.1", PORT + 1)
    assert [each.port for each in home.services()] == [PORT + 1]


def test_only_recorded_addresses_must_prove_their_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path).create()
    home.remember(api=PORT, api_host="127.0.0.1")
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    monkeypatch.delenv("KG_API_URL", raising=False)
    expected: list[ExpectedHome | None] = []
    monkeypatch.setattr(
        "kg_api.client.KgClient", lambda _url, expected_home, **_: expected.append(expected_home)
    )
    open_client()
    monkeypatch.setenv("KG_API_URL", f"http://127.0.0.1:{PORT}")
    open_client()
    assert [each and each.instance for each in expected] == [home.instance(), None]


def test_other_program_on_the_port_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes.announce(Home(tmp_path), "127.0.0.1", PORT)
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    monkeypatch.delenv("KG_API_URL", raising=False)
    expected: list[ExpectedHome] = []
    monkeypatch.setattr(
        "kg_api.client.KgClient", lambda _url, expected_home, **_: expected.append(expected_home)
    )
    open_client()
    assert "is taken by" in expected[0].describe_other()
    monkeypatch.setattr(Home, "instance", lambda _: None)
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
    assert shown_address(address) == shown


def test_second_service_leaves_first_its_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    processes.announce(home, "127.0.0.1", PORT)
    processes.announce(home, "127.0.0.1", PORT + 1)
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    for port in (PORT, PORT + 1):
        address = f"http://127.0.0.1:{port}"
        monkeypatch.setenv("KG_API_URL", address)
        assert grant_to_follow("/notes", "notes")
        assert find_api_key(address, load_settings()) is not None
