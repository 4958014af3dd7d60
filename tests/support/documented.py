"""Commands of documented pages, run as they stand there."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section_of(page: str, heading: str) -> str:
    """What stands below a heading of the second level, up to the next one."""
    return (ROOT / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def commands_in(text: str) -> list[str]:
    """The commands of a text, without `kg` and comments."""
    lines = (line for block in _BLOCK.findall(text) for line in block.splitlines())
    return [re.sub(r"\s+#.*", "", line).removeprefix("kg ") for line in lines]


def check_commands(
    kg: Callable[..., subprocess.CompletedProcess[str]],
    commands: Sequence[str],
    told: Mapping[str, Sequence[str]],
) -> list[Any]:
    """Run commands, and see that each says what is told of it, by what it begins with; all are told of.

    Returns:
        What those with --json gave.
    """
    seen, given = set[str](), list[Any]()
    for command in commands:
        done = kg(*command.split())
        assert done.returncode == 0, (command, done.stderr)
        if "--json" in command:
            given.append(json.loads(done.stdout))
            continue
        name = next(each for each in told if command.startswith(each))
        seen.add(name)
        for words in told[name]:
            assert words in " ".join((done.stdout + done.stderr).split()), (command, done.stdout)
    assert seen == told.keys()
    return given
