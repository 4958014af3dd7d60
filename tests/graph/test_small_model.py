"""Tests with a real language model: schemas, rejected prompts, and timeouts. You cannot predict the
output of SmolLM2-135M, so the tests only use properties that are true for any answer."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any

import neo4j
import pytest
from pydantic import SecretStr

from kg_api.errors import InvalidInput, LlmUnavailable
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.providers.chat import TEXT, Prompt, object_of
from kg_api.providers.openai_chat import Chat, open_chat
from kg_api.providers.retrying import RetryPolicy
from kg_api.schemas.vocabulary import JobState
from kg_api.sections import ConceptsSettings, LlmSettings, OpenAISettings
from kg_api.settings import Settings, load_settings
from tests.support.concepts import check_invariants
from tests.support.extraction import run_extraction, service_of, the_job
from tests.support.records import record
from tests.support.small_model_server import INSTALL, interpreter, serving

pytestmark = [pytest.mark.full, pytest.mark.timeout(1200)]
PATIENCE = 900
"""Number of seconds to wait. On a busy machine, it can take a second to generate a token."""
YES_OR_NO: dict[str, Any] = {"type": "string", "enum": ["yes", "no"]}
"""Schema with a limit, because the model may not stop by itself."""
CITY = Prompt("Answer in JSON.", "Is Paris a city?", "city", object_of(is_city=YES_OR_NO, is_river=YES_OR_NO))
TEXTS = [
    "A worker renews its lease every ten seconds.",
    "A fence refuses writes of a worker without a lease.",
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    python = interpreter()
    if python is None:
        pytest.skip(f"there is no small model: {INSTALL}, here or where KG_TEST_LLM_PYTHON points to")
    with serving(python) as found:
        yield found


def settings_at(address: str, *, seconds: float = PATIENCE) -> Settings:
    openai = OpenAISettings(base_url=f"{address}/v1", api_key=SecretStr("none"))
    llm = LlmSettings(model="smollm2", timeout_seconds=seconds, price_input=1, price_output=2)
    return load_settings(openai=openai, llm=llm, concepts=ConceptsSettings(extractor="llm", per_source=2))


@contextmanager
def chat_at(address: str, *, seconds: float = PATIENCE) -> Generator[Chat]:
    with closing(open_chat(settings_at(address, seconds=seconds), RetryPolicy(tries=1))) as chat:
        yield chat


def test_model_follows_the_schema_and_counts_tokens(address: str) -> None:
    with chat_at(address) as chat:
        reply = chat.ask_counted(CITY)
    assert set(json.loads(reply.text)) == {"is_city", "is_river"}
    assert (reply.read or 0) > 0
    assert (reply.written or 0) > 0


def test_rejected_schema_is_omitted(address: str) -> None:
    refused = Prompt("Answer.", "Say hello.", "strange", {"type": "nonsense"})
    with chat_at(address) as chat:
        assert chat.ask(refused)


def test_too_long_prompt_is_an_error(address: str) -> None:
    long = Prompt("Answer in JSON.", "all work and no play " * 3000, "capital", object_of(capital=TEXT))
    with chat_at(address) as chat, pytest.raises(InvalidInput):
        chat.ask(long)


def test_an_answer_that_takes_too_long_ends(address: str) -> None:
    with chat_at(address, seconds=0.05) as chat, pytest.raises(LlmUnavailable):
        chat.ask(CITY)


def test_extraction_stores_concepts_or_reasons(graph: Graph, driver: neo4j.Driver, address: str) -> None:
    store_document(graph, record("leases.md", TEXTS))
    settings = settings_at(address)
    run_extraction(graph, settings)
    job, service = the_job(graph), service_of(graph, settings)
    assert job.state in {JobState.SUCCEEDED, JobState.SUCCEEDED_WITH_ERRORS}
    status = service.show("notes")
    assert status.extracted + status.refused == status.total == len(TEXTS)
    assert status.spent > 0
    assert all(each.reason for each in service.refused("notes").sources)
    check_invariants(driver)
