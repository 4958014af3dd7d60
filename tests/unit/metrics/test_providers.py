import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from kg_api.errors import ConfigurationError, EmbeddingUnavailable, LlmUnavailable
from kg_api.providers.chat import Prompt
from tests.support.behaviours import Drop, Status
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import open_quick
from tests.support.meters import Counted, metrics
from tests.support.providers import Asking

OF = {"kind": "embed", "provider": "127.0.0.1"}
LLM = {"kind": "llm", "provider": "127.0.0.1"}
TEXTS = ["one two three", "four five"]
QUESTION = Prompt("Write.", "something", "answer", {"type": "object"})


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        running.chat = lambda _: "written"
        yield running


def test_requests_tokens_and_dollars_of_embeddings(server: EmbeddingServer) -> None:
    counted = Counted()
    with Asking("openai", server) as asking:
        asking.embedder.embed_passages(TEXTS)
    assert counted("kg_provider_request_seconds_count", **OF) == 1
    assert counted("kg_provider_tokens_total", **OF, direction="read") == 5
    assert counted("kg_provider_cost_dollars_total", **OF) == pytest.approx(5 * 0.02 / 1e6)


def test_language_model_cost_is_counted(server: EmbeddingServer) -> None:
    counted = Counted()
    chat = open_quick(server, price_input=500_000, price_output=1_000_000)
    chat.ask(QUESTION)
    chat.close()
    read = counted("kg_provider_tokens_total", **LLM, direction="read")
    written = counted("kg_provider_tokens_total", **LLM, direction="written")
    assert counted("kg_provider_cost_dollars_total", **LLM) == pytest.approx(read / 2 + written)


def test_streamed_and_complete_answers_cost_the_same(server: EmbeddingServer) -> None:
    chat, at_once = open_quick(server), Counted()
    chat.ask(QUESTION)
    read, written = (at_once("kg_provider_tokens_total", **LLM, direction=way) for way in ("read", "written"))
    streamed = Counted()
    assert "".join(chat.stream(QUESTION)) == "written"
    chat.close()
    assert streamed("kg_provider_tokens_total", **LLM, direction="read") == read > 0
    assert streamed("kg_provider_tokens_total", **LLM, direction="written") == written > 0


@pytest.mark.parametrize(
    ("status", "reason", "tries", "proofs"),
    [
        *((429, "limit", 3, 0), (503, "server", 3, 1), (401, "key", 1, 0)),
        *((404, "not_found", 1, 0), (418, "other", 1, 0)),
    ],
)
def test_failures_by_reason_and_retries(
    server: EmbeddingServer, status: int, *, reason: str, tries: int, proofs: int
) -> None:
    """After a server error, kg sends a known text to see if the error is caused by the server or by the
    text."""
    counted = Counted()
    server.always = Status(status)
    with Asking("openai", server) as asking, pytest.raises((EmbeddingUnavailable, ConfigurationError)):
        asking.embedder.embed_passages(TEXTS)
    assert counted("kg_provider_failures_total", **OF, reason=reason) == tries + proofs
    assert counted("kg_provider_request_seconds_count", **OF) == tries + proofs
    assert counted("kg_provider_retries_total", kind="embed") == tries - 1
    assert counted("kg_provider_tokens_total", **OF, direction="read") == 0


def test_a_server_that_breaks_off(server: EmbeddingServer) -> None:
    server.always = Drop(mid_body=False)
    chat, counted = open_quick(server), Counted()
    with pytest.raises(LlmUnavailable):
        chat.ask(QUESTION)
    chat.close()
    assert counted("kg_provider_failures_total", **LLM, reason="unreachable") == 3


ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "monitoring"
OF_PROMETHEUS = {"up": frozenset({"job", "instance"})}
FROM_SCRAPES = {"job", "instance"}
VARIABLES = {"$__rate_interval": "5m", "$instance": "kg"}


def alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return group["rules"]


def panels() -> list[dict[str, Any]]:
    return json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))["panels"]


def dashboard_queries() -> Iterator[tuple[str, str]]:
    """Yield each query in the dashboard with its legend. The variables are replaced."""
    for panel in panels():
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            yield expression, target["legendFormat"]


QUERIES = [
    *((each["expr"], " ".join(each["annotations"].values()).replace("$labels.", "")) for each in alerts()),
    *dashboard_queries(),
]
KNOWN = {**metrics(), **OF_PROMETHEUS}


def find_unknown(expression: str, told: str) -> set[str]:
    """Return the metrics of an expression that kg does not have, and the labels that they do not have."""
    names = re.findall(r"\b(?:kg_|embedding|process_|python_)\w+|\bup\b", expression)
    labels = re.findall(r"(\w+)(?==~?\")", expression) + re.findall(r"\{\{ ?\$?(\w+)", told)
    for each in re.findall(r"\b(?:by|on) ?\(([^)]*)\)", expression):
        labels += re.findall(r"\w+", each)
    known = {*FROM_SCRAPES, *(label for name in names for label in KNOWN.get(name, ()))}
    return ({*names} - KNOWN.keys()) | ({*labels} - known - {"value"})


@pytest.mark.parametrize(("expression", "told"), QUERIES)
def test_expression_parses_and_uses_known_metrics(expression: str, told: str) -> None:
    promql_parser.parse(expression)  # raises ValueError
    assert find_unknown(expression, told) == set()


def test_every_metric_is_on_the_dashboard() -> None:
    shown = " ".join(expression for expression, _ in dashboard_queries())
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in metrics()}
    assert {name for name in families if not re.search(rf"\b{name}(_bucket|_count)?\b", shown)} == set()


def test_alert_has_an_instruction() -> None:
    assert len({each["alert"] for each in alerts()}) == len(alerts()) > 10
    for each in alerts():
        assert each["labels"]["severity"] in {"warning", "critical"}
        assert {"summary", "description"} == each["annotations"].keys()
        assert re.fullmatch(r"\d+[smh]", each.get("for", "0s"))
