"""The requests of commands with each of their options, so that each change of a request is seen.

Of commands with several requests, the printed lines are stored too.
"""

import inspect
import json
import re
import shlex
import sys
from collections.abc import Generator, Iterator
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import pytest
from typer import BadParameter
from typer.main import get_command

from kg_api.client.call import Call
from kg_api.errors import KgError
from kg_api.schemas.languages import Synonyms
from kg_cli.main import app
from kg_cli.terminal import answers, connect, options
from tests.support.stored import compare_with_stored
from tests.unit.cli.test_views import Examples
from tests.unit.client.test_calls import Recorder, build_other_value

KG: Any = get_command(app)
ELSEWHERE = re.compile(
    "up|down|status|doctor|mcp|serve|worker|supervise|open|export|import|ingest|subgraph|eval.*"
    "|admin (backup|restore|fetch-model)"
)
"""Commands that start processes, or read and write folders."""
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
    "admin regenerate-embeddings": {"ontology": "notes"},
    "admin synonyms remove": {"words": Examples("full").build(Synonyms).groups[0][0]},
    "augment": {"file": "text.md"},
    "conversation": {"file": "chat.json"},
    "documents approve": {"names": "a.md"},
    "documents reject": {"names": "a.md"},
    "documents page": {"force": None},
    "documents set": {"values": "b=1"},
    "folders add": {"path": "/tmp"},  # noqa: S108
    "folders scan": {"which": "folder_id2"},
    "folders remove": {"which": "folder_id2"},
    "images save": {"force": None},
    "images search": {"query": "b"},
}
"""Optional parameters that a command needs."""
EXCLUSIVE = {"messages", "image", "like"}
FURTHER = {
    "augment chat.json --messages": True,
    "images search --image boat.png": True,
    "images search --like b#3-9": True,
    "subgraph query.json --ontology notes": True,
    "documents approve --all --ontology notes": False,
    "documents reject --all --ontology notes": False,
}
"""Commands with an option that excludes another parameter, and if they send one request."""
FILES = {
    "boat.png": "pixels",
    "chat.json": '[{"author": "Ada", "text": "Hello"}]',
    "query.json": '{"steps": [{"step": "seed", "value": "a"}]}',
    "text.md": "a text",
}


class Answers(Examples):
    def build(self, annotation: Any, name: str = "") -> Any:
        """Return a value that the next request or a file can have."""
        return {"digest": "0" * 32}.get(name) or (
            b"" if annotation is bytes else super().build(annotation, name)
        )


class Answering(Recorder):
    def _send(self, call: Call[Any]) -> Any:
        """Return an example, and no items if a command repeats a request until there is nothing left."""
        answer = Answers("empty" if call in self.calls else "full").build(call.answer)
        self.calls.append(call)
        return answer

    def _follow(self, call: Call[Any], silence: float = 0.0) -> Generator[Any]:  # noqa: ARG002
        """Yield a statement of an answer, and its end."""
        self.calls.append(call)
        event = Answers("full").build(call.answer)
        for other in ("answer", "statement"):
            yield event.model_copy(update={other: None})


def list_commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the commands that send requests, with their paths."""
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from list_commands(each, f"{path}{name} ")
        elif not ELSEWHERE.fullmatch(f"{path}{name}"):
            yield f"{path}{name}", each


def sends_one_request(command: Any) -> bool:
    function = inspect.unwrap(command.callback)
    registered = f"{function.__module__}.{function.__name__}" in answers.ANSWERED
    return registered or "kg" in inspect.signature(function).parameters


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


def list_lines() -> Iterator[tuple[list[str], bool]]:
    """Yield the words of each command without options, and with each option, and if it sends one request."""
    for path, command in list_commands(KG):
        needed, is_single = NEEDED.get(path, {}), sends_one_request(command)
        usual = path.split()
        for each in command.params:
            if each.required or each.name in {"yes", *needed}:
                usual += write_parameter(each, needed.get(each.name))
        asks = "--yes" in usual
        yield usual, is_single
        if asks:
            yield [each for each in usual if each != "--yes"], False
        for each in command.params:
            if not (each.required or each.name in {"as_json", "wait", "yes", *needed, *EXCLUSIVE}):
                further = [*usual, *write_parameter(each)]
                yield further, is_single
                if asks:
                    yield [each for each in further if each != "--yes"], False
    yield from ((shlex.split(line), is_single) for line, is_single in FURTHER.items())


def describe_call(call: Call[Any]) -> str:
    """Write a request, without the numbers of earlier examples, which change with any field before them."""
    parts = [json.dumps(each, ensure_ascii=False) for each in (call.params, call.json, call.data) if each]
    return re.sub(r"(cursor|concept_id)\d+", r"\1", " ".join([call.method, call.path, *parts]))


@pytest.mark.usefixtures("own_consoles")
def test_commands_send_what_is_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("KG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")
    lines, before = list[str](), list[str]()
    client = Answering()
    monkeypatch.setattr(connect, "get_service_url", lambda _: "")
    monkeypatch.setattr(connect, "connect_client", lambda *_: client)
    monkeypatch.setattr(options, "confirm", lambda question: sys.stderr.write(f"{question}\n"))
    for words, is_single in list_lines():
        client.calls.clear()
        capsys.readouterr()
        is_printed = not is_single
        try:
            KG.main([*words, "--json"] if is_single else words, standalone_mode=False)
        except (BadParameter, KgError) as error:
            sys.stderr.write(str(error))
            is_printed = True
        told = capsys.readouterr()
        printed = (told.out + told.err).splitlines() if is_printed else []
        lines += [f"=== kg {shlex.join(words)}", *map(describe_call, client.calls)]
        if printed != before:  # many options change the request only
            lines += [f"    {line.rstrip()}" for line in printed if line.strip(" ─")]
        before = printed
    compare_with_stored("requests.txt", lines)
