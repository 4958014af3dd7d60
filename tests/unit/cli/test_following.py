from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_cli.documents.folders import absolute, parse_duration, render_duration


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("30s", 30), ("5m", 300), ("2h", 7200), ("1d", 86_400), ("45", 45), (" 5M ", 300)],
)
def test_a_time_is_read_as_people_write_it(written: str, seconds: int) -> None:
    assert parse_duration(written) == seconds


@pytest.mark.parametrize("written", ["", "m", "5 m", "5x", "-5m", "1.5h", "5m30s", "٥m", "9" * 10])
def test_invalid_duration_is_rejected(written: str) -> None:
    with pytest.raises(InvalidInput, match="5m"):
        parse_duration(written)


@given(st.integers(1, 31 * 86_400))
def test_printed_duration_can_be_parsed(seconds: int) -> None:
    assert parse_duration(render_duration(seconds)) == seconds


def test_folder_path_is_relative_to_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "link").symlink_to("notes")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("notes", "./link", "~/notes", "notes/../notes"):
        assert absolute(Path(path), elsewhere=False) == str(tmp_path / "notes")


def test_missing_folder_needs_confirmation(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--elsewhere"):
        absolute(tmp_path / "nosuch", elsewhere=False)
    assert absolute(Path("/srv/nosuch"), elsewhere=True) == "/srv/nosuch"
