"""To which services a command proves that it is of their home."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.managed.home import Home
from kg_cli.terminal.connect import grant_to_follow

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
def test_a_folder_is_granted_to_the_service_of_this_home_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listens: str, address: str, is_ours: bool
) -> None:
    Home(tmp_path).announce_service(listens, PORT)
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    monkeypatch.setenv("KG_API_URL", address)
    assert (grant_to_follow("/notes", "notes") is not None) == is_ours


def test_the_address_that_kg_up_remembers_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    home.announce_service("192.168.0.5", PORT)
    home.remember(api=PORT, api_host="192.168.0.5")
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    monkeypatch.delenv("KG_API_URL", raising=False)
    assert grant_to_follow("/notes", "notes")


def test_a_home_whose_service_said_no_host_grants_to_loopback_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    home.announce_service("", PORT)
    home.service_file.write_text('{"port": 8420}')
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    for address, is_ours in (("http://127.0.0.1:8420", True), ("http://:8420", False)):
        monkeypatch.setenv("KG_API_URL", address)
        assert (grant_to_follow("/notes", "notes") is not None) == is_ours
