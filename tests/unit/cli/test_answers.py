import inspect
from typing import get_args

import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput
from kg_api.schemas.problems import validate
from kg_api.schemas.search import SourceSearch
from kg_api.schemas.vocabulary import Target
from kg_cli.evaluate.choice import MODES, parse_choice
from kg_cli.main import app
from kg_cli.terminal.answers import ANSWERED, call_view
from tests.unit.cli.test_views import Examples, answer_of

ASKING = {"kg_cli.jobs.commands.show_job", "kg_cli.admin.concepts.status"}
"""Views that call the service themselves."""
MARKED = "[b]bold[/b]"
assert app, "its import registers the commands"


@pytest.mark.parametrize("command", ANSWERED)
def test_options_are_arguments_of_the_method(command: str) -> None:
    method, _, options = ANSWERED[command]
    assert {*options} <= {*inspect.signature(inspect.unwrap(getattr(KgClient, method))).parameters}


class Marked(Examples):
    """Builder of answers whose names are all markup."""

    def name(self, name: str, number: int) -> str:
        del name, number
        return MARKED


@pytest.mark.usefixtures("own_consoles")
@pytest.mark.parametrize("command", ANSWERED)
def test_views_show_names_unescaped(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    method, view, options = ANSWERED[command]
    answer = Marked("full").build(answer_of(method))
    assert view is not None
    if command in ASKING:
        return
    call_view(view, answer, {"kg": None, **dict.fromkeys(options, 1)})
    told = capsys.readouterr()
    assert MARKED in told.out + told.err
    assert "\\" not in told.out


@pytest.mark.parametrize("target", get_args(Target))
@pytest.mark.parametrize("mode", MODES)
def test_service_accepts_the_request_of_every_mode(mode: str, target: Target) -> None:
    asked = parse_choice([f"mode={mode}"]).asked(target, 20)
    body = validate(SourceSearch, {"query_text": "what", "ontology": "notes", **asked})
    assert body.mode in mode or mode in {"concepts", "graph"}


def test_search_embedding_and_extraction_options_are_separated() -> None:
    found = parse_choice(
        ["mode=vector", "rerank=true", "mmr_lambda=0.5", "strategy=sentence", "chunk_size=30"]
    )
    assert found.mode == "vector"
    assert found.search == {"rerank": True, "mmr_lambda": 0.5}
    assert found.embedding == {"strategy": "sentence", "chunk_size": 30}
    assert found.label == "vector rerank=true mmr_lambda=0.5 strategy=sentence chunk_size=30"
    found = parse_choice(["mode=concepts", "extractor=keyphrase", "per_source=5"])
    assert found.extraction == {"extractor": "keyphrase", "per_source": 5}
    assert found.corpus != ""
    assert found.label == "concepts extractor=keyphrase per_source=5"


def test_each_target_builds_its_request() -> None:
    usual = {"limit": 20, "mode": "hybrid"}
    assert parse_choice([]).asked("documents", 20) == {**usual, "per_document": 1}
    assert parse_choice([]).asked("spans", 20) == {**usual, "group_by": "chunk"}
    assert parse_choice(["per_document=3"]).asked("documents", 20) == {**usual, "per_document": 3}


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("mood=good", "mode hybrid has no option mood. Options: "),
        ("query_text=x", "mode hybrid has no option query_text"),
        ("mode", "'mode' is not of the form name=value"),
        ("=x", "is not of the form name=value"),
        ("mode=fast", "unknown mode"),
        ("extractor=magic", "extractor: "),
        ("rrf_k=0", "rrf_k: "),
        ("rerank=perhaps", "rerank: "),
        ("chunk_size=2", "chunk_size of paragraph"),
    ],
)
def test_invalid_choices_are_rejected(pair: str, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_choice([pair])
    assert told in str(refused.value)
