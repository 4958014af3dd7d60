import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click
import typer
from click.testing import CliRunner, Result

from kg_cli.main import app

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
HEAVY = [
    *("neo4j", "onnxruntime", "fastapi", "starlette", "uvicorn", "pydantic", "httpx", "jgo", "numpy"),
    *("rich", "structlog", "apscheduler", "tokenizers", "psutil", "platformdirs", "tenacity"),
]
"""Modules that should not be loaded by `kg --help`, because it should take less than 0.3 s."""


def commands(
    group: typer.Typer = app, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], typer.models.CommandInfo]]:
    for command in group.registered_commands:
        if not command.hidden and command.callback is not None:
            name = command.name or command.callback.__name__.replace("_", "-")
            yield (*path, name), command
    for below in group.registered_groups:
        if below.typer_instance is not None and below.hidden is not True:
            yield from commands(below.typer_instance, (*path, str(below.name)))


COMMAND = typer.main.get_command(app)
COMMANDS = [path for path, _ in commands()]


def help_of(*path: str) -> Result:
    return CliRunner().invoke(
        cast("click.Command", COMMAND), [*path, "--help"], prog_name="kg", env={"COLUMNS": "80"}
    )


def test_all_commands_are_found() -> None:
    assert {("search",), ("jobs", "watch"), ("admin", "source-embeddings", "status")} <= set(COMMANDS)
    assert len(COMMANDS) == len(set(COMMANDS)) >= 18


def test_every_command_has_help_with_an_example() -> None:
    for path in COMMANDS:
        shown = help_of(*path)
        assert shown.exit_code == 0, path
        example = shown.output.partition("Example: ")[2].split("\n\n")[0]
        assert " ".join(("kg", *path)) in " ".join(example.split())
        options = shown.output.partition("Options:")[2]
        assert all(line.strip() for line in options.strip().splitlines()), "each option says what it does"


def test_every_group_describes_its_commands() -> None:
    for path in {each[:depth] for each in COMMANDS for depth in range(len(each))}:
        shown = help_of(*path)
        assert shown.exit_code == 0, path
        group: Any = COMMAND
        for name in path:
            group = group.commands[name]
        listed = " ".join(shown.output.partition("Commands:")[2].split())
        summaries = [each.help.partition(".")[0] for each in group.commands.values() if not each.hidden]
        assert [each for each in summaries if " ".join(each.split()) not in listed] == [], path
        assert max(map(len, shown.output.splitlines())) <= 80, path


def test_ctrl_c_during_imports_is_silent() -> None:
    entry = tomllib.loads(PYPROJECT.read_text())["project"]["scripts"]["kg"]
    module, _, function = entry.partition(":")
    code = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "kg_cli.search":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from {module} import {function}
{function}()
"""
    ran = subprocess.run([sys.executable, "-c", code, "status"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


def test_help_loads_nothing_heavy() -> None:
    code = f"""
import json, sys
sys.argv = ["kg", "--help"]
from kg_cli.main import run_command
code = run_command(["--help"])
print("LOADED", json.dumps([code, [name for name in {HEAVY!r} if name in sys.modules]]))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout.partition("LOADED")[2]) == [0, []]
