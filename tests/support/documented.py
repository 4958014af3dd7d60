from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section_of(page: str, heading: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def commands_in(text: str) -> list[str]:
    lines = (line for block in _BLOCK.findall(text) for line in block.splitlines())
    return [re.sub(r"\s+#.*", "", line).removeprefix("kg ") for line in lines]


def check_commands(
    kg: Callable[..., subprocess.CompletedProcess[str]],
    commands: Sequence[str],
    told: Mapping[str, Sequence[str]],
    ids: Mapping[str, Callable[[], object]] | None = None,
) -> list[Any]:
    """Run commands and compare the output with the longest matching entry of `told`.

    Args:
        told: Expected output. Each entry must belong to a command.
        ids: Replacements for words of the page.

    Returns:
        The output of commands that print JSON.
    """
    seen, given = set[str](), list[Any]()
    for command in commands:
        words = [str(ids[word]()) if ids and word in ids else word for word in shlex.split(command)]
        done = kg(*words)
        assert done.returncode == 0, (command, done.stderr)
        if command.endswith(("--json", "--schema")):
            given.append(json.loads(done.stdout))
            continue
        name = max((each for each in told if command.startswith(each)), key=len)
        seen.add(name)
        for expected in told[name]:
            assert expected in " ".join((done.stdout + done.stderr).split()), (command, done.stdout)
    assert seen == told.keys()
    return given
