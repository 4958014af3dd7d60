from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput
from kg_api.schemas.problems import valid
from kg_api.schemas.vocabulary import SearchMode, Target
from kg_cli.evaluate.choice import MODES, parse_choice


@pytest.mark.parametrize("target", get_args(Target))
@pytest.mark.parametrize("mode", MODES)
def test_service_accepts_the_request_of_every_mode(mode: str, target: Target) -> None:
    asked = parse_choice([f"mode={mode}"]).asked(target, 20)
    endpoint = MODES[mode].endpoint
    body = valid(endpoint.request, {endpoint.question: "what", "ontology": "notes", **asked})
    assert body.model_dump()["mode"] in mode or mode in {"concepts", "graph", "augment", "answer"}


def test_all_modes_that_the_endpoints_have_are_there() -> None:
    assert {*MODES} >= {*get_args(SearchMode)}


def test_unknown_mode_lists_all_modes() -> None:
    with pytest.raises(InvalidInput, match=r"unknown mode .fast.\. Modes: text, vector, .*answer"):
        parse_choice(["mode=fast"])


def test_options_are_checked_per_mode() -> None:
    assert parse_choice(["mode=answer", "limit=12", "window_size=0"]).search == {
        "limit": 12,
        "window_size": 0,
    }
    with pytest.raises(InvalidInput, match="mode augment has no option rrf_k"):
        parse_choice(["mode=augment", "rrf_k=9"])


@pytest.mark.parametrize(
    ("pairs", "needs"),
    [(["mode=hybrid"], False), (["mode=concepts"], True), (["mode=answer", "concepts=true"], True)],
)
def test_it_is_known_whether_concepts_are_needed(pairs: list[str], needs: bool) -> None:
    assert parse_choice(pairs).needs_concepts is needs


def test_answer_result_is_its_citations_or_reason() -> None:
    cited = SimpleNamespace(document="a.md", source_id="s", start=12, end=15)
    ask = MODES["answer"].endpoint.ask
    client = answering("answer", citations=[cited, cited], refusal=None)
    assert ask(client, "q", {}).found == [("a.md", 12, 15)]
    none = ask(answering("answer", citations=[], refusal="nothing_similar"), "q", {})
    assert (none.found, none.refusal) == ([], "nothing_similar")


def test_augment_result_is_its_context() -> None:
    record = SimpleNamespace(document="a.md", citation="0a1b#3-40")
    found = MODES["augment"].endpoint.ask(answering("augment", records=[record]), "q", {})
    assert found.found == [("a.md", 3, 40)]


def answering(method: str, **fields: Any) -> KgClient:
    answer = SimpleNamespace(timings_ms={}, degraded=[], **fields)

    def give(*_: object, **__: object) -> SimpleNamespace:
        return answer

    return cast("KgClient", SimpleNamespace(**{method: give}))
