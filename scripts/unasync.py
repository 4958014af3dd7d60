"""Writes kg_api/client/sync from kg_api/client/asynchronous; with --check only compares (ADR 38)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "kg_api" / "client"
SOURCE, TARGET = CLIENT / "asynchronous", CLIENT / "sync"
NOTE = "# Written by scripts/unasync.py from ../asynchronous/{}; change that, not this.\n"
SUBSTITUTIONS = {
    r"\b(async|await) ": "",
    r"\bAsync(?=[A-Z])": "",
    r"\b__a(enter|exit)__\b": r"__\1__",
    r"\ba(connect_sse|iter_sse|read|close)\b": r"\1",
    r"\basynchronous\b": "sync",
}
"""In code and docstrings: their examples change with it."""
SORT = ("check", "--select", "I", "--fix", "--config", 'lint.isort.known-first-party = ["kg_api"]')


def modules() -> dict[str, str]:
    """What the folder of the synchronous client shall hold."""
    return {path.name: synchronous(path) for path in SOURCE.glob("*.py")}


def synchronous(path: Path) -> str:
    """A module without waiting, in the form that ruff gives ours."""
    text = path.read_text(encoding="utf-8")
    for pattern, replacement in SUBSTITUTIONS.items():
        text = re.sub(pattern, replacement, text)
    return _ruff("format", text=_ruff(*SORT, text=NOTE.format(path.name) + text))


def _ruff(*arguments: str, text: str) -> str:
    command = (sys.executable, "-m", "ruff", *arguments, "--quiet", "--stdin-filename", TARGET / "a.py", "-")
    return subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def main() -> int:
    """Write the modules, or say which are stale."""
    there = {path.name: path.read_text(encoding="utf-8") for path in TARGET.glob("*.py")}
    wanted = modules()
    stale = sorted(name for name in there.keys() | wanted.keys() if there.get(name) != wanted.get(name))
    for name in stale:
        if "--check" in sys.argv:
            print(f"kg_api/client/sync/{name} is stale; run: python3 tasks.py client", file=sys.stderr)
        elif name in wanted:
            TARGET.mkdir(exist_ok=True)
            (TARGET / name).write_text(wanted[name], encoding="utf-8")
        else:
            (TARGET / name).unlink()
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
