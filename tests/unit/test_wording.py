"""The field's words: what CONTRIBUTING's glossary replaced stays away, in names and in what users read."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from kg_api.settings import load_settings, variables
from kg_api.web.app import create_app
from kg_cli.main import app

ROOT = Path(__file__).parents[2]
PRODUCT = sorted(path for package in ("kg_api", "kg_cli") for path in (ROOT / package).rglob("*.py"))

LEFT = {
    r"(max_)?stumbles?": "failures",
    r"gives?_back": "yield",
    r"_?purse": "budget",
    r"_?standings?": "embedding_state",
    r"_?rereading": "reranking",
    r"_?(re)?told": "a verb: present_..., describe_..., record_...",
    r"tell(_.*)?|_tell(_.*)?": "report, print_..., describe_...",
    r"imagined?": "hypothetical",
    r"contrasts?": "calibration",
    r"Asked|Telling|Standing|Presence|Purse|Rereading|Imagined|TryAgain|Contrast|Walk|Turn": "glossary",
    r"_?(MOST|LONGEST|LARGEST|LEAST|SHORTEST|SMALLEST)(_[A-Z_]+)?": "MAX_..., MIN_...",
}
"""Names that left, and what stands in their place. Local variables are free."""

KEPT = {"max_stumbles": "the name of a setting: KG_WORKER__MAX_STUMBLES"}

PHRASES = {
    r"\blets? (a space|others|it) ": "name the action: activate, yield",
    r"\bgrave\b": "minimum log level",
    r"\ban own\b": "its own, an external",
    r"\bis no (address|JSON|name|slug|time|question|citation)\b": "is not a ...",
    r"\bstands twice\b": "duplicate",
    r"\bstumbl": "fails",
    r"\bpurse\b": "budget",
    r"\blook again\b": "check, and try again",
    r"\bgo(es)? (on|back) to answer\b": "stays active, rolls back",
    r"\b(made|make) red\b": "fails",
}
"""What no engineer would say, in texts that users read, and what to say."""


def names(tree: ast.Module) -> Iterator[str]:
    """What a module defines for others: classes, functions, constants and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        if isinstance(node, ast.Module | ast.ClassDef):
            for each in node.body:
                targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def offences(found: Iterator[str]) -> list[str]:
    return [
        f"{name}: {instead}"
        for name in found
        for pattern, instead in LEFT.items()
        if name not in KEPT and re.fullmatch(pattern, name)
    ]


@pytest.mark.parametrize("path", PRODUCT, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_that_left_do_not_come_back(path: Path) -> None:
    assert offences(names(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_a_name_that_left_is_found() -> None:
    tree = ast.parse("MOST_READ = 3\nclass Purse:\n    stumbles: int\n\n    def _tell_once(self): told = 1\n")
    assert {each.split(":")[0] for each in offences(names(tree))} == {
        "MOST_READ", "Purse", "stumbles", "_tell_once",
    }  # fmt: skip


def test_public_class_names_occur_once() -> None:
    """Who reads a name at its use knows what it is, without a look at the import."""
    classes = Counter(
        node.name
        for path in PRODUCT
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name: count for name, count in classes.items() if count > 1} == {}


def texts(value: Any) -> Iterator[str]:
    """Summaries and descriptions anywhere in an OpenAPI document."""
    if isinstance(value, dict):
        yield from (
            each for key, each in value.items() if key in {"summary", "description"} and isinstance(each, str)
        )
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from texts(each)


def helps(command: Any) -> Iterator[str]:
    """The help of a command, of its options, and of the commands below."""
    yield command.help or ""
    yield from (getattr(each, "help", None) or "" for each in command.params)
    for below in getattr(command, "commands", {}).values():
        yield from helps(below)


def messages() -> Iterator[str]:
    """The constant parts of what is raised."""
    for path in PRODUCT:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                strings = [each.value for each in ast.walk(node.exc) if isinstance(each, ast.Constant)]
                yield " ".join(each for each in strings if isinstance(each, str))


def read_by_users() -> Iterator[str]:
    yield from (field.description or "" for _, field in variables())
    yield from texts(create_app(load_settings(), lambda _: None).openapi())
    yield from helps(get_command(app))
    yield from messages()


def test_what_users_read_is_idiomatic() -> None:
    found = list(read_by_users())
    assert len(found) > 300
    odd = [
        (text, say)
        for text in found
        for phrase, say in PHRASES.items()
        if re.search(phrase, text, re.IGNORECASE)
    ]
    assert odd == []


def test_every_setting_is_described() -> None:
    assert [name for name, field in variables() if len(field.description or "") < len("API key of X.")] == []


def test_rows_of_tables_have_the_cells_of_their_heads() -> None:
    """A row that slipped into another one shows nothing, or half of both."""
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    torn = [
        below
        for above, below in pairwise(lines)
        if above.startswith("|") and below.startswith("|") and above.count("|") != below.count("|")
    ]
    assert not torn
    named = [name for row in rows if (name := row.split("|")[1].strip()).startswith("`kg_")]
    assert len(named) == len(set(named))
