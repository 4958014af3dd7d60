import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.markup import escape
from rich.text import Text

from kg_api.errors import InvalidInput
from kg_api.schemas.answers import Statement
from kg_api.schemas.concepts import ConceptList
from kg_api.schemas.search import ContextWindow
from kg_cli.concepts import commands as views
from kg_cli.search import views as answers
from kg_cli.search import views as passages
from kg_cli.terminal import console

EVIL = "a\x1b]0;owned\x1b\\b\x1b[2Jc\x9b31md\u202ee\u2066f\x7fg\u200fh"
SAFE = "a�]0;owned�\\b�[2Jc�31md�e�f�g�h"
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
COMMANDS = {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), *BIDI} - {"\n", "\t"}

pytestmark = pytest.mark.usefixtures("own_consoles")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_every_helper_escapes_terminal_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    console.say(f"[bold]said[/] {escape(EVIL)}")
    console.complain(EVIL)
    console.print_table([EVIL], [[EVIL], [Text(EVIL, style="bold")]], title=EVIL)
    with console.waiting_line() as show:
        show(EVIL)
    told = capsys.readouterr()
    assert not COMMANDS & {*told.out, *told.err}
    assert SAFE in told.err
    assert told.out.count("a�]0") == 4


def test_documents_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    answers.print_statement(Statement(text=EVIL, citations=[]))
    passages.print_windows(
        [
            ContextWindow.model_construct(
                ontology="o", document=EVIL, heading=[EVIL], start=0, end=1, tokens=1, text=EVIL
            )
        ]
    )
    one = {"concept_id": "c", "ontology": "o", "label": EVIL, "description": EVIL, "search_terms": [EVIL]}
    page = {"concepts": [{**one, "sources": 1}], "total": 1, "offset": 0, "limit": 9}
    views.print_concepts(ConceptList.model_validate(page))
    told = capsys.readouterr().out
    assert not COMMANDS & {*told}
    assert told.count("�]0;owned") == 7


def test_styles_are_preserved(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    console.stdout().print(Text.assemble("x\x1b[2J", ("y", "bold"), "z"))
    assert capsys.readouterr().out == "x�[2J\x1b[1my\x1b[0mz\n"


def test_json_output_is_not_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"text": EVIL})
    assert json.loads(capsys.readouterr().out) == {"text": EVIL}


@given(st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_escaped_text_loses_only_control_characters(text: str) -> None:
    shown = console.escape_text(text)
    assert not COMMANDS & {*shown}
    kept = [each for each in text.replace("\r\n", "\n") if each not in COMMANDS]
    assert [each for each in shown if each != "�"] == [each for each in kept if each != "�"]


@pytest.mark.parametrize(("text", "told"), [("{", "is not valid JSON"), ("[]", "contains no JSON object")])
def test_file_without_json_object_is_rejected(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "steps.json").write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=f"steps.json {told}"):
        console.read_object(tmp_path / "steps.json")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1}\n{', "line 2 is not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[7]", "an item is not a message"),
        (None, "cannot be read: No such file"),
    ],
)
def test_file_without_messages_is_rejected(text: str | None, told: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "chat.json").write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=f"chat.json.*{told}"):
        console.read_messages(tmp_path / "chat.json")


def test_progress_is_no_output() -> None:
    assert console.progress().console is console.stderr()
