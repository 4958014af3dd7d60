"""Pages of PDFs through the service: drawn from the file that was kept, with words boxed where they stand."""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp_types import ImageContent
from PIL import Image

from tests.neo4j_server import Neo4jServer
from tests.service.asking import problem, search
from tests.service.test_formats import SAID, docx, pdf, upload
from tests.service.test_ocr import PICTURED, WRITTEN
from tests.support.images import drawn, encoded
from tests.support.mcp import answer as mcp_answer
from tests.support.mcp import call
from tests.support.pictures import pictured
from tests.support.running import Service, environment


def hit_of(http: httpx.Client, text: str) -> dict[str, Any]:
    hits = search(http, text, mode="text", ontology="notes")["sources"]
    return next(each for each in hits if text in each["full_text"])


def boxed(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    return int(answer.headers["kg-boxed-words"])


def colours(answer: httpx.Response) -> bool:
    return Image.open(io.BytesIO(answer.content)).mode == "RGB"


def test_a_page_is_given_out_and_asked_for_again(http: httpx.Client) -> None:
    stored = upload(http, pdf(), "garden/fruit.pdf")
    answer = http.get(f"/documents/{stored['document_id']}/pages/2.png")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == "inline; filename*=UTF-8''fruit-2.png"
    assert (answer.headers["kg-pages"], boxed(answer), colours(answer)) == ("3", 0, False)
    head = http.head(f"/documents/{stored['document_id']}/pages/2.png")
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", answer.headers["etag"])
    picture = Image.open(io.BytesIO(answer.content))
    assert (picture.format, picture.width) == ("PNG", 1200)
    tag = {"If-None-Match": answer.headers["etag"]}
    again = http.get(f"/documents/{stored['document_id']}/pages/2.png", headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    for other in ("1.png", "2.png?width=300", "2.png?query=soil"):
        assert http.get(f"/documents/{stored['document_id']}/pages/{other}", headers=tag).status_code == 200
    same = http.get("/documents/garden%2Ffruit.pdf/pages/2.png?ontology=notes")
    assert same.content == answer.content


def test_the_words_of_a_hit_and_of_a_question_are_boxed(http: httpx.Client) -> None:
    stored = upload(http, pdf(), "fruit.pdf")
    page = f"/documents/{stored['document_id']}/pages/2.png"
    hit = hit_of(http, SAID[1])
    assert (hit["page"], hit["last_page"]) == (1, 3)  # three short pages are one source
    answer = http.get(page, params={"source_id": hit["source_id"]})
    assert (boxed(answer), colours(answer)) == (4, True)
    assert boxed(http.get(page, params={"query": "blueberry"})) == 1  # as full text finds it
    assert boxed(http.get(page, params={"query": "acid soil"})) == 2
    assert boxed(http.get(page, params={"query": "apricots"})) == 0  # they are on another page
    assert boxed(http.get(page, params={"query": "soil acid", "source_id": hit["source_id"][:8]})) == 6


def test_words_that_ocr_read_are_boxed_where_it_read_them(http: httpx.Client) -> None:
    stored = upload(http, pictured([WRITTEN], [PICTURED], text_pages=[1]), "fruit.pdf")
    page, hit = f"/documents/{stored['document_id']}/pages/2.png", hit_of(http, PICTURED)
    answer = http.get(page, params={"source_id": hit["source_id"], "width": 600})
    assert (boxed(answer), colours(answer)) == (4, True)
    answer = http.get(page, params={"query": "acid", "width": 600})
    assert boxed(answer) == 1
    pixels = Image.open(io.BytesIO(answer.content)).convert("RGB")
    warm = [x for x in range(pixels.width) if _is_warm(pixels, x)]
    assert warm
    assert 0.05 < (max(warm) - min(warm)) / pixels.width < 0.25  # a word, not the line


def _is_warm(picture: Image.Image, x: int) -> bool:
    found = (picture.getpixel((x, y)) for y in range(picture.height))
    return any(isinstance(pixel, tuple) and pixel[0] - pixel[2] > 60 for pixel in found)


@pytest.mark.parametrize("page", ["0", "4", "1000000000"])
def test_a_page_that_is_not_there_is_told(http: httpx.Client, page: str) -> None:
    upload(http, pdf(), "fruit.pdf")
    told = problem(http.get(f"/documents/fruit.pdf/pages/{page}.png"), 404)
    assert told == f"'fruit.pdf' has 3 pages: there is no page {page}"


def test_what_has_no_pages_is_told(http: httpx.Client) -> None:
    assert "nothing.pdf" in problem(http.get("/documents/nothing.pdf/pages/1.png"), 404)
    upload(http, docx(), "fruit.docx")
    assert "is no PDF (docx)" in problem(http.get("/documents/fruit.docx/pages/1.png"), 404)
    http.post("/documents", json={"ontology": "notes", "document": "fruit.md", "text": "Apricots."})
    assert "is no PDF (markdown)" in problem(http.get("/documents/fruit.md/pages/1.png"), 404)


def test_a_source_of_another_document_is_refused(http: httpx.Client) -> None:
    upload(http, pdf(), "fruit.pdf")
    http.post("/documents", json={"ontology": "notes", "document": "b.md", "text": "Apricots."})
    page = "/documents/fruit.pdf/pages/1.png"
    assert "'notes/b.md'" in problem(http.get(page, params={"source_id": "notes/b.md#0"}), 422)
    assert problem(http.get(page, params={"source_id": "0" * 32}), 404)


@pytest.mark.parametrize(
    "asked",
    ["width=99", "width=2401", "width=x", "query=", "colour=red", "width=300&width=400", "source_id="],
)
def test_what_is_asked_for_wrongly_is_refused(http: httpx.Client, asked: str) -> None:
    upload(http, pdf(), "fruit.pdf")
    problem(http.get(f"/documents/fruit.pdf/pages/1.png?{asked}"), 422)


def test_a_document_that_is_named_like_a_page_is_given_out(http: httpx.Client) -> None:
    upload(http, encoded(drawn(40, 30), "PNG"), "book/pages/1.png")
    found = http.get("/documents/book%2Fpages%2F1.png")
    assert (found.status_code, found.json()["document"]) == (200, "book/pages/1.png")
    assert "book" in problem(http.get("/documents/book/pages/1.png"), 404)


@pytest.mark.parametrize("where", ["http", "stdio"])
def test_an_agent_sees_the_page_of_a_hit(
    service: Service, server: Neo4jServer, http: httpx.Client, tmp_path: Path, where: str
) -> None:
    upload(http, pdf(), "fruit.pdf")
    env = environment(server, KG_API_URL=service.url, KG_HOME=str(tmp_path / "home"))
    stdio = StdioServerParameters(command=sys.executable, args=["-m", "kg_cli.main", "mcp"], env=env)
    target = f"{service.url}/mcp" if where == "http" else stdio
    hit = hit_of(http, SAID[1])
    result = call(target, "get_source_context", citation=hit["source_id"], page=2)
    assert mcp_answer(result)["page"] == {"page": 2, "pages": 3, "boxed": 4}
    shown = result.content[1]
    assert isinstance(shown, ImageContent)
    assert Image.open(io.BytesIO(base64.b64decode(shown.data))).width == 1000
