import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from kg_api.errors import InvalidInput
from kg_api.graph.targets import KINDS
from kg_api.jobs import backfill, extraction
from kg_api.schemas.folders import SCAN_KIND
from kg_api.schemas.operations import JOB_KINDS
from kg_cli.admin.keys import read_local_time
from kg_cli.documents.folders import parse_duration, parse_interval, resolve_folder
from kg_cli.documents.ingestion import read_changes, read_metadata
from kg_cli.jobs.report import print_jobs
from kg_cli.main import app, run_command
from kg_cli.terminal.console import get_runnable
from kg_cli.terminal.options import DECLINED, confirm

KG: Any = get_command(app)


@pytest.mark.parametrize("command", ["search", "relations", "show"])
def test_blank_query_message_names_the_argument(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["concepts", command, " "]) == 2
    said = capsys.readouterr().err
    assert f"'{'concept' if command == 'show' else 'QUERY'}': the text is empty. Write a query" in said
    assert "query_text" not in said


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("admin regenerate-embeddings --all --force --only-stale", "--force exclude each other"),
        ("admin fetch-model unknown", "kg has no packaged model 'unknown'"),
        ("search x --hyde many", "'many' is neither a number from 0 to"),
        ("ingest ''", "a path is empty"),
    ],
)
def test_wrong_argument_is_explained(command: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(shlex.split(command)) == 2
    assert told in " ".join(capsys.readouterr().err.split())


GROUPS: dict[str, Any] = {
    f"{path} {name}".strip(): group
    for path, parent in {"": KG, **KG.commands}.items()
    for name, group in getattr(parent, "commands", {}).items()
    if "list" in getattr(group, "commands", {})
}


@pytest.mark.parametrize("path", GROUPS)
@pytest.mark.parametrize(
    ("given", "run"),
    [
        ([], ["list"]),
        (["--json"], ["list", "--json"]),
        (["list", "--help"], ["list", "--help"]),
        (["--help"], ["--help"]),
        (["-h"], ["-h"]),
    ],
)
def test_group_lists_unless_asked_for_help(
    path: str, given: list[str], run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = list[list[str]]()
    monkeypatch.setattr(TyperGroup, "parse_args", lambda *args: parsed.append(args[2]) or [])
    GROUPS[path].parse_args(None, given)
    assert parsed == [run]


def test_question_without_a_terminal_names_the_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(typer.Exit) as ended:
        confirm("Delete 3 documents?")
    asked, told, *rest = capsys.readouterr().err.splitlines()
    assert asked.startswith("Delete 3 documents?")
    assert told.startswith("kg: nothing was done")
    assert told.endswith("Pass --yes to skip the confirmation.")
    assert (ended.value.exit_code, rest) == (DECLINED, [])


def test_file_path_and_short_interval_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text")
    with pytest.raises(InvalidInput, match=r"is a file\. `kg folders` syncs folders"):
        resolve_folder(tmp_path / "a.md", elsewhere=False)
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


@pytest.mark.parametrize("written", ["2026-01-31", "2026-01-31T00:00"])
def test_time_without_zone_is_local(written: str) -> None:
    assert read_local_time(written).isoformat().startswith("2026-01-31T00:00:00")


@pytest.mark.parametrize("written", ["yesterday", "5", "2026-02-30", "9999-12-31T23:59:59-14:00"])
def test_invalid_time_is_rejected(written: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"is not a time\. Write 2026-01-31"):
        read_local_time(written)


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
        assert resolve_folder(Path(path), elsewhere=False) == str(tmp_path / "notes")


def test_types_are_read_from_the_values() -> None:
    given = [
        "title=Pumps = all", "uri=file:///a", "n=3", "x=1.5", "draft=true", "names=a,b", "zip='0123'", "t=",
    ]  # fmt: skip
    assert read_changes(given, ["tags=oncall, 7", "years=2024,2025"], ["old"]) == {
        "title": "Pumps = all",
        "uri": "file:///a",
        "metadata": {
            "n": 3,
            "x": 1.5,
            "draft": True,
            "names": "a,b",
            "zip": "0123",
            "t": "",
            "tags": ["oncall", "7"],
            "years": [2024, 2025],
            "old": None,
        },
    }


@pytest.mark.parametrize("values", [[], ["novalue"], ["=3"]])
def test_empty_metadata_change_is_rejected(values: list[str]) -> None:
    with pytest.raises(typer.BadParameter):
        read_changes(values, [], [])


def test_metadata_options_have_the_same_types() -> None:
    given = ["author=Ada", "year=2025", 'code="7"', "draft=false"]
    read = {"author": "Ada", "year": 2025, "code": "7", "draft": False, "tags": ["a", "b"]}
    assert read_metadata(given, ["tags=a, b"]) == read
    assert read_metadata([], []) == {}


@pytest.mark.parametrize(
    ("values", "several", "remove"),
    [(["a=1", "a=2"], [], []), (["a=1"], ["a=2"], []), (["a=1"], [], ["a"]), ([], ["a=1", "a=2"], [])],
)
def test_repeated_metadata_key_is_rejected(values: list[str], several: list[str], remove: list[str]) -> None:
    with pytest.raises(typer.BadParameter, match=r"'a' is given more than once.*--list a=A,B"):
        read_changes(values, several, remove)
    if not remove:
        with pytest.raises(typer.BadParameter, match="'a' is given more than once"):
            read_metadata(values, several)


@pytest.mark.parametrize(("value", "told"), [("title=All", "differs per document"), ("author", "KEY=VALUE")])
def test_invalid_metadata_option_is_rejected(value: str, told: str) -> None:
    with pytest.raises(typer.BadParameter, match=told):
        read_metadata([value], [])


ROOT = Path(__file__).parents[3]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
SPAN = re.compile(r"`((?:[A-Z_]+=\S+ )*kg [^`\n]+)`")
LINE = re.compile(r"^(?:\$ )?((?:[A-Z_]+=\S+ )*kg .+)$", re.MULTILINE)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELLS = {"", "bash", "sh", "shell", "console"}
WORD = re.compile(r"[a-z][a-z-]*")


def find_commands(page: str) -> Iterator[str]:
    """Return code spans that begin with `kg`, and such lines of blocks."""
    blocks = [block for language, block in FENCE.findall(page) if language in SHELLS]
    yield from (found[1] for block in blocks for found in LINE.finditer(block))
    yield from (found[1] for found in SPAN.finditer(FENCE.sub("", page)))


def find_unknown(line: str) -> str | None:
    """Return the word of a command line that no command has."""
    words = re.split(r"\s+(?:#|\||&&|>|;)\s*|;", line)[0].split()
    commands: dict[str, Any] = KG.commands
    for word in words[words.index("kg") + 1 :]:
        if not commands or not WORD.fullmatch(word):
            return None  # an argument, or an option
        if word not in commands:
            return word
        commands = getattr(commands[word], "commands", {})
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_pages_exist(page: Path) -> None:
    unknown = {line: word for line in find_commands(page.read_text("utf-8")) if (word := find_unknown(line))}
    assert not unknown


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
    assert get_runnable() == "bin/kg"
    monkeypatch.chdir("/")
    assert get_runnable() == str(own.relative_to("/"))
    monkeypatch.chdir(own.parent)
    assert get_runnable() == "./kg", "a bare name is looked for on PATH"


def test_only_the_running_kg_on_path_is_named_without_path(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(own.parent))
    assert get_runnable() == "kg"
    other = tmp_path / "other" / "kg"
    other.parent.mkdir()
    other.write_bytes(own.read_bytes())
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert get_runnable() == "bin/kg"
