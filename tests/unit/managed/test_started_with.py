"""What `kg up` tells of settings that a running kg was not started with."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.local.processes import Home
from kg_api.settings import given_variables, load_settings
from kg_cli.stack import report, roles

KEY = "sk-not-to-be-kept"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Of a kg that was started with two settings."""
    monkeypatch.setenv("KG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("KG_WORKER__GRACE_SECONDS", "2")
    made = Home(load_settings().home).create()
    roles.remember(made, load_settings())
    return made


def differing(home: Home) -> list[str]:
    return roles.differing(home, load_settings(), given_variables())


def test_the_same_settings_differ_by_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert differing(home) == []
    monkeypatch.setenv("KG_WORKER__GRACE_SECONDS", "2.0")  # the same, said otherwise
    monkeypatch.delenv("OPENAI_API_KEY")  # another terminal, which says nothing of it
    monkeypatch.setenv("KG_CONVERSION__IMAGES_WITHIN", "true")  # the default
    assert differing(home) == []


def test_what_is_given_now_and_was_not_is_named(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    monkeypatch.setenv("KG_CONVERSION__IMAGES_WITHIN", "false")
    assert sorted(differing(home)) == ["KG_CONVERSION__IMAGES_WITHIN", "OPENAI_API_KEY"]
    report.warn_of_settings(differing(home))
    told = " ".join(capsys.readouterr().err.split())
    assert "have other values than kg was started with" in told
    assert "`kg down` and `kg up`" in told


def test_no_value_is_kept_and_nobody_else_reads_the_file(home: Home) -> None:
    file = home.started_with_file
    assert file.stat().st_mode & 0o077 == 0
    assert KEY not in file.read_text()
    before = file.read_text()
    roles.remember(home, load_settings())
    assert file.read_text() != before  # no two homes have the same hash of the same key


@pytest.mark.parametrize("content", [None, "", "[]", '{"salt": 1}', '{"salt": "a", "settings": []}'])
def test_a_kg_that_did_not_say_differs_by_nothing(home: Home, content: str | None) -> None:
    home.started_with_file.unlink() if content is None else home.started_with_file.write_text(content)
    assert differing(home) == []
