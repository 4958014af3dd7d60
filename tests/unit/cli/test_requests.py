"""The requests of commands with each of their options, so that each change of a request is seen."""

import inspect
import json
import re
import shlex
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import pytest
from typer.main import get_command

from kg_api.client.call import Call
from kg_cli.main import app
from kg_cli.terminal import answers
from tests.support.stored import compare_with_stored
from tests.unit.cli.test_views import Examples
from tests.unit.client.test_calls import Recorder, build_other_value

KG: Any = get_command(app)
ELSEWHERE = {"admin synonyms remove", "delete documents", "folders remove"}
"""Commands whose request depends on an earlier response."""
VALUES = {
    "context_template": "{title}",
    "groups": "k8s = kubernetes",
    "hops": "2",
    "hyde": "2",
    "several": "a=1,2",
    "since": "2026-01-31",
    "source": "b#3-9",
    "values": "a=1",
    "where": "a=1",
}
"""Values of parameters whose type allows others."""
NEEDED = {
    "augment": {"file": "text.md"},
    "conversation": {"file": "chat.json"},
    "documents set": {"values": "a=1"},
    "images search": {"query": "b"},
}
"""Optional parameters that a command needs."""
EXCLUSIVE = {"messages", "image", "like"}
FURTHER = ["augment chat.json --messages", "images search --image boat.png", "images search --like b#3-9"]
"""Commands with an option that excludes another parameter."""
FILES = {"boat.png": "pixels", "chat.json": '[{"author": "Ada", "text": "Hello"}]', "text.md": "a text"}


class Answering(Recorder):
    def _send(self, call: Call[Any]) -> Any:
        self.calls.append(call)
        return Examples("full").build(call.answer)


def list_commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the commands that send one request, with their paths."""
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from list_commands(each, f"{path}{name} ")
        elif f"{path}{name}" not in ELSEWHERE:
            function = inspect.unwrap(each.callback)
            registered = f"{function.__module__}.{function.__name__}" in answers.ANSWERED
            if registered or "kg" in inspect.signature(function).parameters:
                yield f"{path}{name}", each


def write_parameter(parameter: Any, value: str | None = None) -> list[str]:
    """Return the words of a command line for a parameter, with a value that is not the default.

    The value of a text is the name of its parameter, so that a swap is seen.
    """
    annotation = parameter.type_descriptor.annotation
    while get_origin(annotation) not in {None, Literal}:  # optional or repeated
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    names = [parameter.opts[0]] if parameter.opts[0].startswith("-") else []
    if annotation is bool:
        return names
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [*names, str(next(iter(annotation)))]
    other = build_other_value(annotation, parameter.default)
    return [*names, value or VALUES.get(parameter.name, parameter.name if other == "b" else str(other))]


def list_lines() -> Iterator[list[str]]:
    """Yield the words of each command without options, and with each option."""
    for path, command in list_commands(KG):
        needed = NEEDED.get(path, {})
        usual = path.split()
        for each in command.params:
            if each.required or each.name in {"yes", *needed}:
                usual += write_parameter(each, needed.get(each.name))
        yield usual
        for each in command.params:
            if not (each.required or each.name in {"as_json", "wait", "yes", *needed, *EXCLUSIVE}):
                yield [*usual, *write_parameter(each)]
    yield from map(shlex.split, FURTHER)


def describe_call(call: Call[Any]) -> str:
    """Write a request, without the numbers of earlier examples, which change with any field before them."""
    parts = [json.dumps(each, ensure_ascii=False) for each in (call.params, call.json, call.data) if each]
    return re.sub(r"(cursor|concept_id)\d+", r"\1", " ".join([call.method, call.path, *parts]))


def test_commands_send_what_is_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")
    sent: dict[str, list[str]] = {}
    with Answering() as client:
        monkeypatch.setattr(answers, "open_client", lambda: client)
        for words in list_lines():
            client.calls.clear()
            KG.main([*words, "--json"], standalone_mode=False)
            sent[f"kg {shlex.join(words)}"] = [*map(describe_call, client.calls)]
    lines = [line for words, calls in sent.items() for line in (f"=== {words}", *calls)]
    compare_with_stored("requests.txt", lines)
