from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.errors import InvalidInput
from kg_api.graph.targets import KINDS
from kg_api.jobs import backfill, extraction
from kg_api.schemas.folders import SCAN_KIND
from kg_api.schemas.operations import JOB_KINDS
from kg_cli.documents.folders import absolute, parse_duration, parse_interval
from kg_cli.jobs.report import print_jobs
from kg_cli.main import run_command


def test_unknown_mode_message_contains_no_python_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["search", "x", "--mode", "meaning"]) == 2
    said = capsys.readouterr().err
    assert "'meaning' is not one of" in said
    assert "Value error" not in said


@pytest.mark.parametrize("command", ["search", "relations", "show"])
def test_blank_query_message_names_the_argument(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["concepts", command, " "]) == 2
    said = capsys.readouterr().err
    assert f"'{'concept' if command == 'show' else 'QUERY'}': the text is empty. Write a query" in said
    assert "query_text" not in said


def test_file_path_and_short_interval_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text")
    with pytest.raises(InvalidInput, match=r"is a file\. `kg folders` syncs folders"):
        absolute(tmp_path / "a.md", elsewhere=False)
    with pytest.raises(InvalidInput, match="'5' is not between 10s and 31d"):
        parse_interval("5")


def test_empty_job_list_and_unknown_kind_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    print_jobs([], "foo")
    said = " ".join(capsys.readouterr().err.split())
    assert all(kind in said for kind in JOB_KINDS)
    print_jobs([], "backfill")
    assert "There are no such jobs." in capsys.readouterr().err


def test_job_kinds_equal_the_handlers() -> None:
    own = {extraction.KIND, backfill.KIND, SCAN_KIND, *(each.job for each in KINDS.values())}
    assert own | {"space_cleanup", "link_proposal", "community_detection"} == set(JOB_KINDS)


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


def test_folder_path_is_relative_to_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "link").symlink_to("notes")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("notes", "./link", "~/notes", "notes/../notes"):
        assert absolute(Path(path), elsewhere=False) == str(tmp_path / "notes")
