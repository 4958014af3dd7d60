"""Agents with a key of one ontology: no tool shows them another."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from kg_api.mcp.server import TOOLS
from tests.support.two_libraries import OTHER, SAME_NAME, SECRET, Libraries, fill_in

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_sources", {"query": "common ferry"}),
    ("search_sources", {"query": "common ferry", "mode": "text", "all_copies": True}),
    ("hybrid_search", {"query": "common ferry oven"}),
    ("get_source_context", {"citation": "{own_source}"}),
    ("read_document", {"document": SAME_NAME}),
    ("get_concept_context", {"concept": "{own_concept}"}),
    ("get_concept_context", {"concept": "oven"}),
    ("find_similar_sources", {"citation": "{own_source}"}),
    ("search_images", {"query": "boat"}),
    ("list_ontologies", {}),
    ("list_documents", {}),
)
REFUSED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_sources", {"query": "ferry", "ontologies": [OTHER]}),
    ("hybrid_search", {"query": "ferry", "ontologies": [OTHER]}),
    ("get_source_context", {"citation": "{source}"}),
    ("read_document", {"document": "{document}"}),
    ("read_document", {"document": SAME_NAME, "ontology": OTHER}),
    ("read_document", {"document": f"{OTHER}/{SAME_NAME}"}),
    ("get_concept_context", {"concept": "{concept}"}),
    ("get_concept_context", {"concept": "oven", "ontologies": [OTHER]}),
    ("find_similar_sources", {"citation": "{source}"}),
    ("find_similar_sources", {"citation": "{own_source}", "ontologies": [OTHER]}),
    ("search_images", {"like": "{image}"}),
    ("search_images", {"query": "boat", "ontologies": [OTHER]}),
    ("list_documents", {"ontology": OTHER}),
)


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=str)
def test_tools_show_ones_own(
    own: httpx.Client, libraries: Libraries, tool: str, arguments: dict[str, Any]
) -> None:
    told = _call(own, tool, arguments, libraries)
    assert SECRET not in str(told).lower()
    assert not told["isError"], told


@pytest.mark.parametrize(("tool", "arguments"), REFUSED, ids=str)
def test_what_is_of_another_is_nowhere(
    own: httpx.Client, libraries: Libraries, tool: str, arguments: dict[str, Any]
) -> None:
    told = _call(own, tool, arguments, libraries)
    assert told["isError"], told
    (content,) = told["content"]
    assert (
        "this key is for" in content["text"]
        or "there is no" in content["text"]
        or "has no" in content["text"]
    )
    assert SECRET not in content["text"].lower().replace(OTHER, "", 2)


def test_the_same_is_shown_to_whoever_sees_all(everything: httpx.Client, libraries: Libraries) -> None:
    told = [str(_call(everything, *each, libraries)).lower() for each in CALLS]
    assert sum(SECRET in each for each in told) > len(CALLS) // 2


def test_every_tool_is_tried() -> None:
    for calls in (CALLS, REFUSED):
        assert TOOLS.keys() - {each for each, _ in calls} <= {"list_ontologies"}


def _call(client: httpx.Client, tool: str, arguments: dict[str, Any], libraries: Libraries) -> dict[str, Any]:
    filled = fill_in(("", arguments), libraries.own, libraries.other)[1]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": filled}}
    accepting = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    return client.post("/mcp", json=asked, headers=accepting).json()["result"]
