"""Answers when the model writes what nobody can read, and when words find other passages first."""

from __future__ import annotations

import json

import httpx
import pytest
from httpx_sse import connect_sse

from kg_api.graph.client import Graph
from tests.service.asking import Json, problem, words_before_meaning
from tests.service.test_answer import ANSWER, NEAR, QUESTION, answer, web
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import quoting

__all__ = ["web"]  # the fixture


def test_what_is_near_enough_is_answered_from_though_words_find_others_first(
    web: httpx.Client, graph: Graph
) -> None:
    words_before_meaning(graph, web)
    told = answer(web, "common rare", ontology="notes", limit=1, min_similarity=0.35)
    assert (told["answered"], told["refusal"]) == (True, None)
    assert told["counts"]["below_similarity"] == 20
    assert {each["document"] for each in told["citations"]} <= {f"meaning{n}.txt" for n in range(3)}


GARBAGE = {
    "": "it is empty",
    "<think>what is a lease?</think>": "it is empty",
    "Every ten seconds, I should think.": "no list of statements",
    '{"statements": null}': "no list of statements",
    '{"answer": "every ten seconds"}': "no list of statements",
    '["every ten seconds"]': "no list of statements",
    '{"statements": [{"text": "It renews its': "breaks off",
    '{"statements": [{"text": "A worker renews its lease."}]}': "is a statement with quotes",
    '[{"answer": "every ten seconds", "source": 1}]': "is a statement with quotes",
}


@pytest.mark.parametrize(("said", "fault"), GARBAGE.items(), ids=range(len(GARBAGE)))
def test_what_cannot_be_read_is_told_as_the_models_fault_and_never_of_the_passages(
    web: httpx.Client, writer: EmbeddingServer, said: str, fault: str
) -> None:
    writer.chat = lambda _: said
    detail = problem(web.post(ANSWER, json={"question": QUESTION, **NEAR}), 502)
    assert fault in detail
    assert "says nothing about your documents" in detail
    with connect_sse(web, "POST", ANSWER, json={"question": QUESTION, "stream": True, **NEAR}) as source:
        (event,) = source.iter_sse()
    assert (event.event, json.loads(event.data)["detail"]) == ("error", detail)


def test_what_is_cut_off_or_no_statement_is_told_beside_what_was_proved(
    web: httpx.Client, writer: EmbeddingServer
) -> None:
    def cut(body: Json) -> str:
        whole = json.loads(quoting(body))["statements"]
        return json.dumps({"statements": [{"answer": 42}, *whole]})[:-2] + ', {"text": "And'

    writer.chat = cut
    told = answer(web, **NEAR)
    assert len(told["statements"]) == 2
    assert [each["part"] for each in told["degraded"]] == ["answer", "answer"]
    effects = " ".join(each["effect"] for each in told["degraded"])
    assert "1 of 3 entries left out: not statements with quotes" in effects
    assert "breaks off" in effects
