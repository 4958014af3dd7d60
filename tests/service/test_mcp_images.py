"""Pictures over MCP, by the real service."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import httpx
import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from tests.service.asking import ingest
from tests.service.test_formats import upload
from tests.support.images import drawn, encoded
from tests.support.mcp import MODES, call
from tests.support.running import Service


def hits(result: CallToolResult) -> list[dict[str, Any]]:
    said = result.content[0]
    assert isinstance(said, TextContent)
    return json.loads(said.text)["hits"]


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_pictures_are_shown(service: Service, http: httpx.Client, mode: str) -> None:
    url = f"{service.url}/mcp"
    upload(http, encoded(drawn(600, 400), "JPEG"), "boat.jpg")
    upload(http, encoded(drawn(300, 200)), "smaller.png")
    result = call(url, "search_images", mode, query="boat", limit=1)
    (hit,), (_, picture) = hits(result), result.content
    assert (hit["document"], hit["width"], hit["shown"]) == ("boat.jpg", 600, 1)
    assert isinstance(picture, ImageContent)
    assert (picture.mime_type, b64decode(picture.data)[8:12]) == ("image/webp", b"WEBP")
    like = call(url, "search_images", mode, like=hit["citation"])
    assert [(each["document"], each["near_duplicate"]) for each in hits(like)] == [("smaller.png", True)]


def test_pictures_for_a_passage(service: Service, http: httpx.Client) -> None:
    upload(http, encoded(drawn(600, 400), "JPEG"), "boat.jpg")
    ingest(http, "A boat lies in the harbour.", document="words.md")
    result = call(f"{service.url}/mcp", "search_images", like="notes/words.md#0")
    (hit,) = hits(result)
    assert (hit["document"], hit["found_by"], len(result.content)) == ("boat.jpg", ["words"], 2)
