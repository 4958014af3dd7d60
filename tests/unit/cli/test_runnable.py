from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kg_cli.terminal.console import runnable


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The running `kg`, in a virtual environment below the working directory."""
    own = tmp_path / "bin" / "kg"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(own), "up"])
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    return own


def test_command_path_is_shown_if_not_on_path(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runnable() == "bin/kg"
    monkeypatch.chdir("/")
    assert runnable() == str(own.relative_to("/"))
    monkeypatch.chdir(own.parent)
    assert runnable() == "./kg", "a bare name is looked for on PATH"


def test_the_name_is_enough_where_path_finds_it(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(own.parent))
    assert runnable() == "kg"


def test_another_kg_on_path_is_not_meant(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other" / "kg"
    other.parent.mkdir()
    other.write_bytes(own.read_bytes())
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert runnable() == "bin/kg"
