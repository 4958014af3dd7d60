from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from kg_cli.main import app

ROOT = Path(__file__).parents[3]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
KG: Any = get_command(app)
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


def test_the_search_for_unknown_commands_finds_some() -> None:
    found = list(
        find_commands("Run `kg page x`.\n\n```bash\nKG_HOME=/x kg admin nothing --yes   # why\nkg up\n```\n")
    )
    assert [find_unknown(line) for line in found] == ["nothing", None, "page"]
    assert sum(len(list(find_commands(page.read_text("utf-8")))) for page in PAGES) > 200
