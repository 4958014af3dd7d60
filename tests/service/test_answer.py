import contextlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse

from kg_api.client import KgClient
from kg_api.errors import InvalidInput, LlmUnavailable, TooBusy
from kg_api.graph.client import Graph
from kg_api.schemas.answers import Statement
from kg_api.search.answer import MAX_AT_ONCE
from tests.service.asking import Json, embedded, ingest, problem, search
from tests.service.conftest import sharing
from tests.support.behaviours import Status
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import quoting
from tests.support.running import Service, wait_until

LEASES = "# Leases\n\nA worker renews its lease every ten seconds. Another worker takes a lost lease.\n"
BREAD = "# Bread\n\nBread needs flour, water, salt and time. The dough rests overnight.\n"
QUESTION = "How often does a worker renew its lease?"
NEAR: Json = {"min_similarity": 0.05}
ANSWER = "/queries/answer"


def store_handbook(graph: Graph, url: str) -> None:
    with httpx.Client(base_url=url, timeout=60) as http:
        for name, text in {"leases.md": LEASES, "bread.md": BREAD}.items():
            embedded(graph, http, text, document=name, ontology="handbook")


shared = sharing(store_handbook, "writing")


@pytest.fixture
def web(writing: Service, graph: Graph, shared: None, writer: EmbeddingServer) -> Iterator[httpx.Client]:
    del graph, shared
    writer.chat, writer.always, writer.pause = quoting, None, 0.0
    writer.requests.clear()
    with httpx.Client(base_url=writing.url, timeout=60) as client:
        yield client


def answer(web: httpx.Client, question: str = QUESTION, **options: Any) -> Json:
    response = web.post(ANSWER, json={"question": question, **options})
    assert response.status_code == 200, response.text
    return response.json()


def test_answer_statements_cite_spans_of_their_sources(web: httpx.Client) -> None:
    told = answer(web, **NEAR)
    assert (told["answered"], told["refusal"], told["model"]) == (True, None, "small-writer")
    assert told["statements"][0]["text"] == "It says: A worker renews its lease every ten seconds."
    shown = {each["source_id"]: each for each in told["sources"]}
    assert told["citations"]
    for cited in told["citations"]:
        document = web.get(f"/documents/{cited['document_id']}").json()["text"]
        assert document[cited["start"] : cited["end"]] == cited["quote"]
        source = shown[cited["source_id"]]
        assert source["start"] <= cited["start"] < cited["end"] <= source["end"]
        assert f"[{cited['source_id']}#{cited['start']}-{cited['end']}]" in told["text"]
    assert [cited["number"] for cited in told["citations"]] == [1, 2]
    counts = told["counts"]
    assert counts["found"] == counts["below_similarity"] + counts["without_vector"] + counts["passages"]
    assert (counts["statements"], counts["without_citation"]) == (2, 0)
    assert told["degraded"] == []
    assert {"total", "search", "write"} <= told["timings_ms"].keys()


def test_a_streamed_answer_comes_statement_by_statement(web: httpx.Client, writer: EmbeddingServer) -> None:
    writer.pause = 0.05
    seen: list[tuple[str, Json, float]] = []
    with connect_sse(web, "POST", ANSWER, json={"question": QUESTION, "stream": True, **NEAR}) as source:
        assert source.response.headers["content-type"].startswith("text/event-stream")
        seen.extend((each.event, json.loads(each.data), time.monotonic()) for each in source.iter_sse())
    assert [event for event, _, _ in seen] == ["statement", "statement", "end"]
    last = seen[-1][1]["answer"]
    assert [each["statement"] for _, each, _ in seen[:-1]] == last["statements"]
    assert seen[1][2] - seen[0][2] > 0.2, "the first came while the second was being written"


def test_question_below_threshold_sends_no_model_request(web: httpx.Client, writer: EmbeddingServer) -> None:
    told = answer(web, min_similarity=0.99)
    assert (told["answered"], told["refusal"], told["text"]) == (False, "nothing_similar", "")
    assert told["counts"]["below_similarity"] == told["counts"]["found"] == 2
    assert told["thresholds"] == [{"space": "default", "min_similarity": 0.99, "source": "request"}]
    assert "min_similarity" in told["reason"]
    assert answer(web, where=["document=none.md"], **NEAR)["refusal"] == "nothing_found"
    assert writer.requests == []


def test_pending_sources_are_counted_and_keywords_answer(web: httpx.Client, writer: EmbeddingServer) -> None:
    ingest(web, "Quokkas sleep during the day.\n", document="q.txt", ontology="new")
    told = answer(web, "When do quokkas sleep?", ontology="new")
    assert (told["refusal"], told["counts"]["without_vector"]) == ("nothing_similar", 1)
    assert "embedded" in told["reason"]
    assert writer.requests == []
    by_words = answer(web, "When do quokkas sleep?", ontology="new", mode="text")
    assert by_words["citations"][0]["quote"] == "Quokkas sleep during the day."


def test_unavailable_model_is_reported(web: httpx.Client, writer: EmbeddingServer, writing: Service) -> None:
    writer.always = Status(503)
    assert "KG_LLM" not in problem(web.post(ANSWER, json={"question": QUESTION, **NEAR}), 503)
    assert len(writer.requests) == 2, "once more, and no longer: somebody waits"
    with KgClient(writing.url) as kg, pytest.raises(LlmUnavailable):
        kg.answer(QUESTION, **NEAR)
    writer.always = None
    assert answer(web, **NEAR)["answered"], "and then it is asked again"


def test_missing_language_model_names_the_setting(http: httpx.Client, kg: KgClient, graph: Graph) -> None:
    embedded(graph, http, LEASES, document="leases.md", ontology="handbook")
    for _ in range(MAX_AT_ONCE + 1):  # none occupies a place
        assert "KG_LLM__MODEL" in problem(http.post(ANSWER, json={"question": QUESTION}), 422)
    with pytest.raises(InvalidInput, match="KG_LLM__MODEL"):
        kg.answer(QUESTION)


@pytest.mark.usefixtures("web")
def test_disconnected_clients_free_their_slots(writer: EmbeddingServer, writing: Service) -> None:
    """The client starts more answers than are allowed, and does not read any of them to the end."""
    writer.pause = 0.02
    with KgClient(writing.url) as kg:

        def begins() -> bool:
            with contextlib.suppress(TooBusy), contextlib.closing(kg.stream_answer(QUESTION, **NEAR)) as told:
                return isinstance(next(told), Statement)
            return False

        for _ in range(15):
            wait_until(begins, 10)


def test_concurrent_answers_are_limited_and_others_continue(
    web: httpx.Client, writer: EmbeddingServer
) -> None:
    def nothing_runs() -> bool:
        return "kg_http_requests_open 1.0" in web.get("/metrics").text  # this request

    wait_until(nothing_runs, 10)  # the stream of a test before ends when its client is missed
    writer.pause = 0.15
    with ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(web.post, ANSWER, json={"question": QUESTION, **NEAR}) for _ in range(16)]
        time.sleep(1)
        assert web.get("/health").status_code == 200
        assert not all(each.done() for each in waiting)
        statuses = sorted(each.result().status_code for each in waiting)
    assert statuses[:12] == [200] * 12
    assert set(statuses[12:]) <= {200, 429}
    assert 429 in statuses


def test_the_log_holds_counts_and_no_texts(web: httpx.Client, writing: Service) -> None:
    answer(web, **NEAR)
    log = Path(writing.log).read_text(encoding="utf-8")
    assert '"answered"' in log or "answered" in log
    assert "every ten seconds" not in log


GARBAGE = {
    "<think>what is a lease?</think>": "the answer is empty",
    "Every ten seconds, I should think.": "list of statements is missing",
    '{"statements": [{"text": "It renews its': "cut off",
    '{"statements": [{"text": "A worker renews its lease."}]}': "is a statement with quotes",
}


@pytest.mark.parametrize(("said", "fault"), GARBAGE.items(), ids=range(len(GARBAGE)))
def test_unreadable_reply_blames_the_model_without_passages(
    web: httpx.Client, writer: EmbeddingServer, said: str, fault: str
) -> None:
    writer.chat = lambda _: said
    detail = problem(web.post(ANSWER, json={"question": QUESTION, **NEAR}), 502)
    assert fault in detail
    assert "The documents are not the cause" in detail
    with connect_sse(web, "POST", ANSWER, json={"question": QUESTION, "stream": True, **NEAR}) as source:
        (event,) = source.iter_sse()
    assert (event.event, json.loads(event.data)["detail"]) == ("error", detail)


def test_hypothetical_answers_are_searched_by_too(web: httpx.Client, writer: EmbeddingServer) -> None:
    writer.chat = lambda _: json.dumps({"passages": [{"text": "flour water salt dough rests overnight"}]})
    plain = search(web, "what is it made of", mode="vector")
    told = search(web, "what is it made of", mode="vector", hyde=1)
    assert told["hypothetical"] == ["flour water salt dough rests overnight"]
    assert told["sources"][0]["document"] == "bread.md"
    assert told["sources"][0]["similarity"] > plain["sources"][0]["similarity"]
    assert "hyde" in told["timings_ms"]
    assert plain["hypothetical"] == []
    assert "hyde" not in plain["timings_ms"]
    assert told["degraded"] == []
    (fewer,) = search(web, "what is it made of", mode="vector", hyde=3)["degraded"]
    effect = "the language model wrote 1 instead of 3 hypothetical answers"
    assert fewer == {"part": "hyde", "effect": effect}


def test_search_without_hypothetical_answers_continues_with_note(
    web: httpx.Client, writer: EmbeddingServer, http: httpx.Client
) -> None:
    writer.chat = lambda _: "I cannot."
    for found in (search(web, QUESTION, hyde=2), search(http, QUESTION, hyde=2)):
        assert found["sources"][0]["document"] == "leases.md"
        (told,) = found["degraded"]
        assert told["part"] == "hyde"
        assert "KG_LLM__MODEL" in told["effect"]
    writer.always = Status(503)
    assert search(web, QUESTION, hyde=2)["degraded"][0]["part"] == "hyde"
    asked_once = len(writer.requests)
    assert search(web, QUESTION, hyde=2)["degraded"][0]["part"] == "hyde"
    assert len(writer.requests) == asked_once, "it is left alone for a moment"
