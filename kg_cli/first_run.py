"""Commands of `python3 tasks.py run`, in one process that imports kg once."""

from __future__ import annotations

import json
import shlex
import sys

from kg_api.settings import load_settings
from kg_cli.main import run_command
from kg_cli.stack.report import read_status


def run_all(commands: list[list[str]], next_steps: str) -> int:
    """Run commands until one fails, then print the next steps. Return the exit code.

    Args:
        commands: Arguments of each command, without `kg`.
        next_steps: Text with a place `{page}` for the address of the web UI.
    """
    for command in commands:
        sys.stdout.write(f"\n$ .venv/bin/kg {shlex.join(command)}\n")
        sys.stdout.flush()
        if code := run_command(command):
            return code
    page = read_status(load_settings(), with_jobs=False).page
    sys.stdout.write(next_steps.format(page=page) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(run_all(json.loads(sys.argv[1]), sys.argv[2]))
