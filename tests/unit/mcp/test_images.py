import json
from base64 import b64decode
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ImageContent, TextContent

from tests.support.library import MemoryLibrary
from tests.support.mcp import call, failure

SMALL, LARGE = b"RIFF" + bytes(90), b"RIFF" + bytes(3000)


def told(result: CallToolResult) -> tuple[dict[str, Any], list[bytes]]:
    first, *blocks = result.content
    assert not result.is_error
    assert isinstance(first, TextContent)
    assert not blocks or result.structured_content is None, "clients that know it would show no picture"
    pictures: list[bytes] = []
    for block in blocks:
        assert isinstance(block, ImageContent)
        assert block.mime_type == "image/webp"
        pictures.append(b64decode(block.data, validate=True))
    return json.loads(first.text), pictures


@pytest.fixture
def boats(library: MemoryLibrary) -> list[str]:
    thumbnails = {"a": SMALL, "b": LARGE, "c": SMALL + b"c"}
    return [library.add_picture(f"{n}.png", f"boat {n}", each).source_id for n, each in thumbnails.items()]


def test_text_search_shows_images_with_positions(server: Server[Any], boats: list[str]) -> None:
    answer, pictures = told(call(server, "search_images", query="boat"))
    assert pictures == [SMALL, LARGE, SMALL + b"c"]
    assert [hit["shown"] for hit in answer["hits"]] == [1, 2, 3]
    assert answer["hits"][0] == {
        "citation": f"{boats[0]}#0-6",
        "text": "boat a",
        "ontology": "photos",
        "document": "a.png",
        "heading": ["Part"],
        "width": 4,
        "height": 3,
        "found_by": ["words"],
        "shown": 1,
    }
    assert "not_shown" not in answer


def test_images_that_are_not_shown_are_counted(
    server: Server[Any], library: MemoryLibrary, boats: list[str]
) -> None:
    del library.thumbnails[boats[0]]
    answer, pictures = told(call(server, "search_images", query="boat", image_bytes=1000))
    assert pictures == [SMALL + b"c"]
    assert [hit.get("shown") for hit in answer["hits"]] == [None, None, 1]
    assert "1 thumbnail omitted" in answer["not_shown"]
    assert "1 thumbnail missing" in answer["not_shown"]


def test_image_and_passage_find_images(server: Server[Any], library: MemoryLibrary, boats: list[str]) -> None:
    answer, pictures = told(call(server, "search_images", like=f"{boats[0]}#0-6"))
    assert len(pictures) == 2
    assert answer["hits"][0]["found_by"] == ["picture_space"]
    passage = next(iter(library.places.values()))[0].source_id
    answer, pictures = told(call(server, "search_images", like=passage, limit=1))
    assert (answer["hits"][0]["found_by"], pictures) == (["document"], [SMALL])


@pytest.mark.parametrize("asked", [{}, {"query": "a", "like": "b"}])
def test_exactly_one_query_is_required(server: Server[Any], asked: dict[str, str]) -> None:
    assert "pass exactly one of `query` and `like`" in failure(call(server, "search_images", **asked))


def test_an_unknown_source_is_an_error_that_helps(server: Server[Any]) -> None:
    assert "not found" in failure(call(server, "search_images", like="0" * 32))


def test_images_beyond_the_page_follow_by_cursor(server: Server[Any], library: MemoryLibrary) -> None:
    for number in range(12):
        library.add_picture(f"{number}.png", f"boat {number} " + "and more words " * 30, SMALL)
    asked: dict[str, Any] = {"query": "boat", "limit": 12, "token_budget": 600}
    seen: list[str] = []
    for _ in range(20):
        answer, pictures = told(call(server, "search_images", **asked))
        assert len(pictures) == len(answer["hits"])
        seen += [hit["document"] for hit in answer["hits"] if not hit.get("continues")]
        if "more" not in answer:
            break
        asked["cursor"] = answer["more"]["cursor"]
    assert seen == [f"{number}.png" for number in range(12)]
