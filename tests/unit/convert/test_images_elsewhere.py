from __future__ import annotations

import base64
import json
from email.message import EmailMessage
from typing import Any

import pytest

from kg_api.convert.html.page import convert as convert_html
from kg_api.convert.mail import convert as convert_mail
from kg_api.convert.notebook import convert as convert_notebook
from tests.support.images import drawn, encoded, png_of
from tests.unit.convert.test_images_within import BOAT, PLAN, page, sources, uri

IMAGE = dict[str, str]


def message(text: str, html: str = "", **images: bytes) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["Subject"] = "a@a.example", "Boats"
    made.set_content(text)
    if html:
        made.add_alternative(html, subtype="html")
        for identity, content in images.items():
            part: Any = made.get_payload(1)
            part.add_related(content, "image", "jpeg", cid=f"<{identity}@a>", filename=f"{identity}.jpg")
    return made


def attached(made: EmailMessage, content: bytes, name: str, kind: str = "png") -> EmailMessage:
    made.add_attachment(content, maintype="image", subtype=kind, filename=name)
    return made


def words(text: str) -> list[str]:
    return text.strip().split("\n\n")[2:]


def test_html_mail_shows_its_embedded_images() -> None:
    others = '<img src="cid:gone"><img src="http://127.0.0.1:1/b.png">'
    html = f'<p>Look.</p><img alt="A boat" src="cid:boat%40a"><p>The end.</p>{others}'
    made = convert_mail(message("", html, boat=BOAT).as_bytes())
    assert words(made.text) == ["Look.", "![A boat](image)", "The end."]
    (found,) = made.images
    assert made.text[found.start : found.end] == "![A boat](image)"
    assert [each.image.content_type for each in sources(made, "email") if each.image] == ["image/jpeg"]


def test_attached_images_keep_their_position() -> None:
    made = attached(message("See below."), PLAN, "Plan of 1911.png")
    attached(made, BOAT, "boat.jpg", "jpeg")
    made.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="plan.pdf")
    found = convert_mail(made.as_bytes())
    assert words(found.text) == ["See below.", "![Plan of 1911](Plan%20of%201911.png)", "![boat](boat.jpg)"]
    assert [each.image.height for each in found.images] == [90, 48]
    assert found.notes == ("attachments that were not read: plan.pdf",)


def test_invalid_attached_images_are_reported() -> None:
    made = attached(message("See below."), b"<svg/>", "drawing.svg", "svg+xml")
    attached(made, BOAT[:300], "cut.jpg", "jpeg")
    attached(made, png_of(50_000, 50_000), "bomb.png")
    attached(made, encoded(drawn(9, 9)), "dot.png")
    found = convert_mail(made.as_bytes())
    assert found.images == ()
    assert found.notes == (
        "attachments that were not read: drawing.svg, cut.jpg, bomb.png, dot.png",
        "skipped: images in an unsupported format, or damaged (3)",
    )


def code(source: str, *outputs: IMAGE) -> dict[str, Any]:
    shown = [{"output_type": "display_data", "metadata": {}, "data": each} for each in outputs]
    return {"cell_type": "code", "source": source, "metadata": {}, "execution_count": 1, "outputs": shown}


def prose(source: str, **attachments: bytes) -> dict[str, Any]:
    files = {
        f"{name}.png": {"image/png": base64.b64encode(each).decode()} for name, each in attachments.items()
    }
    return {"cell_type": "markdown", "source": source, "metadata": {}, "attachments": files}


def notebook(*cells: dict[str, Any]) -> bytes:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)}).encode()


def figure(content: bytes = PLAN) -> IMAGE:
    encodedbytes = base64.encodebytes(content).decode()
    return {"image/png": encodedbytes, "text/plain": "<Figure size 640x480 with 1 Axes>"}


def test_notebook_image_is_described_by_preceding_text() -> None:
    cells = (
        prose("# Harbour\n\nShips by year."),
        code("ax.set_title(\"Ships\")\nax.set_xlabel('year')", figure()),
    )
    made = convert_notebook(notebook(*cells))
    assert made.text.rstrip().endswith("\n```\n\n![Ships by year.](output)")
    assert "<Figure" not in made.text
    assert [each.image.height for each in made.images] == [90]
    assert [each.image.content_type for each in sources(made, "notebook") if each.image] == ["image/png"]


@pytest.mark.parametrize("content", [b"<svg/>", BOAT[:300], png_of(50_000, 50_000), b"<html>" + BOAT])
def test_invalid_notebook_image_is_reported(content: bytes) -> None:
    made = convert_notebook(notebook(prose("Words."), code("draw()", figure(content))))
    assert made.images == ()
    assert made.notes == ("skipped: images in an unsupported format, or damaged (1)",)


def test_images_in_html_tables_follow_the_table() -> None:
    rows = (
        f'<tr><th>Name</th><th>Look</th></tr><tr><td>Boat</td><td><img alt="Red" src="{uri(BOAT)}"></td></tr>'
        f'<tr><td>Plan of 1911</td><td><img src="{uri(PLAN)}"></td></tr>'
        f'<tr hidden><td>x</td><td><img src="{uri(PLAN)}"></td></tr>'
    )
    made = convert_html(page(f"<p>Before.</p><table>{rows}</table><p>After.</p>"))
    table, *rest = made.text.strip().split("\n\n")[1:]
    assert table.splitlines()[2:4] == ["| Boat | Red |", "| Plan of 1911 |  |"]
    assert rest == ["![Red](image)", "![Plan of 1911](image)", "After."]
    assert len(made.images) == 2
