from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space, find_space
from kg_api.schemas.spaces import SpaceIdentity
from tests.neo4j_server import Neo4jServer
from tests.process.providers.provider import Provider
from tests.process.providers.starting import REFUSED, refusals
from tests.support.providers import CANARY

OPENAI = {"KG_EMBEDDING__PROVIDER": "openai"}
KEY = {"OPENAI_API_KEY": CANARY}


def openai_identity(model: str, dimensions: int, max_tokens: int) -> SpaceIdentity:
    return SpaceIdentity("openai", model, model, dimensions, max_tokens)


@pytest.mark.parametrize(
    ("env", "told"),
    [
        pytest.param(
            OPENAI,
            ["OPENAI_API_KEY is not set where kg runs. Set it, or set OPENAI_BASE_URL"],
            id="no key for OpenAI's address",
        ),
        pytest.param(
            {**OPENAI, "OPENAI_API_KEY": CANARY.removeprefix("sk-"), "NOMIC_API_KEY": f"'{CANARY}'"},
            ["OPENAI_API_KEY: ", "an OpenAI key starts with sk-", "NOMIC_API_KEY: ", "quotes around it"],
            id="keys of the wrong shape",
        ),
        pytest.param(
            {**OPENAI, **KEY, "OPENAI_EMBED_MODEL": "of-my-own"},
            ["kg does not know the model of-my-own: set OPENAI_EMBED_DIMS", "text-embedding-3-small"],
            id="a model without a size",
        ),
    ],
)
def test_unusable_settings_are_rejected(
    server: Neo4jServer, graph: Graph, tmp_path: Path, env: dict[str, str], told: list[str]
) -> None:
    del graph
    for refusal in refusals(server, tmp_path, **env):
        assert refusal.exit_code == REFUSED, refusal
        assert all(each in refusal.message for each in told), refusal
        assert CANARY.removeprefix("sk-") not in refusal.message


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            (
                openai_identity("text-embedding-3-small", 64, 8191),
                {**OPENAI, "OPENAI_EMBED_DIMS": "32"},
                ["text-embedding-3-small (64 dimensions", "(32 dimensions", "OPENAI_EMBED_DIMS"],
            ),
            id="another size",
        ),
        pytest.param(
            (
                openai_identity("text-embedding-3-small", 64, 8191),
                {},
                ["computed by openai text-embedding-3-small", "deterministic word-hash", "KG_EMBEDDING__"],
            ),
            id="another provider",
        ),
    ],
)
def test_settings_of_another_model_are_rejected(
    server: Neo4jServer,
    empty_graph: Graph,
    provider: Provider,
    tmp_path: Path,
    case: tuple[SpaceIdentity, dict[str, str], list[str]],
) -> None:
    stored, env, told = case
    ensure_space(empty_graph, stored)
    asked = len(provider.requests)
    for refusal in refusals(server, tmp_path, OPENAI_BASE_URL=provider.openai_url, **KEY, **env):
        assert refusal.exit_code == REFUSED, refusal
        assert all(each in refusal.message for each in [*told, "kg admin spaces create"]), refusal
    assert find_space(empty_graph).identity == stored
    assert len(provider.requests) == asked
