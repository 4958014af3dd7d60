from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest

from kg_api.blobs.images import ImageKeeper
from kg_api.client.call import build_file_parts
from kg_api.convert.html.page import convert as convert_page
from kg_api.convert.image.embedded import convert_markdown
from kg_api.ingest.reader import DocumentReader, place_images
from kg_api.ingest.records import Incoming, to_record
from kg_api.text.linked_files import (
    MAX_REFERENCES,
    build_reference,
    find_linked_image,
    list_file_references,
    normalize_reference,
    read_linked_files,
    read_linked_images,
    read_regular,
    references,
)
from tests.support.images import drawn, encoded
from tests.support.picture_store import InThisProcess

NAMES = ["a%25b.png", "a%20b.png", "100%.png", "a b.png", "ü.png", "a#b?.png", "b+c.png", "a&b;.png"]
BOAT, PLAN = encoded(drawn(64, 48), "JPEG"), encoded(drawn(40, 90))


@pytest.mark.parametrize(
    ("reference", "key"),
    [
        ("img/boat.png", "img/boat.png"),
        ("./img/../img/red%20boat.png?v=2#top", "img/red boat.png"),
        ("../shared/a.png", "../shared/a.png"),
        ("img\\boat.png", "img/boat.png"),
        ("100%.png", "100%.png"),
        *(
            (elsewhere, None)
            for elsewhere in (
                "http://a.example/b.png", "HTTPS://a.example/b.png", "//a.example/b.png",
                "file:///etc/passwd", "/etc/passwd", "%2Fetc/passwd", "\\\\host\\share\\a.png", "C:\\a.png",
                "data:image/png;base64,AA", "javascript:alert(1)", "cid:1", "#top", "?a", "", ".",
                "a\x00.png", "a%00.png", "a" * 1001,
            )
        ),
    ],
)  # fmt: skip
def test_a_reference_is_relative_or_none(reference: str, key: str | None) -> None:
    assert normalize_reference(reference) == key


def test_every_markdown_reference_is_found() -> None:
    text = """\
![a](img/a.png) ![b](<img/b c.png> "With a title") [![d](d.png)](https://a.example)
![e][far] ![Far] ![no][nowhere] ![x](https://a.example/x.png)

<p align="center"><img width=3 src='f.png'></p>

[far]: img/far.png
"""
    assert references(text, "markdown") == ("img/a.png", "img/b c.png", "d.png", "img/far.png", "f.png")
    assert references(text, "html") == ("f.png",)
    assert references(text, "text") == ()


@pytest.mark.parametrize("as_text", [True, False])
def test_remote_images_are_counted_in_a_note(as_text: bool) -> None:
    text = """![a](https://a.example/a.png) ![b](//b.example/b.png) <img src="HTTP://c.example/c.png">
    ![again](https://a.example/a.png) `![d](https://d.example/d.png)` [no picture](https://e.example)

![f](data:image/png;base64,AA) ![g](img/g.png)
"""
    reader = DocumentReader(InThisProcess())
    incoming = Incoming("notes", "a.md", text)
    notes = reader.read_sent_text(incoming)[1] if as_text else reader.from_bytes(text.encode(), incoming)[1]
    assert "images at URLs are not downloaded (3)" in notes
    for plain in ("No picture: https://a.example", "![a](img/a.png)"):
        assert "not downloaded" not in "".join(reader.read_sent_text(Incoming("notes", "a.md", plain))[1])


def test_html_references_are_found() -> None:
    page = '<IMG alt="a" data-src="no.png" src="img/a&amp;b.png"><img src=c.png><img>'
    assert references(page, "html") == ("img/a&b.png", "c.png")


@pytest.mark.parametrize("text", ["![", "![a](", "![a](<", "<img ", "[a]: ", "![[", "<img src='"])
def test_pathological_text_is_read_quickly(text: str) -> None:
    assert len(references(text * 100_000, "markdown")) <= MAX_REFERENCES


def folder(tmp_path: Path) -> Path:
    root = tmp_path / "given"
    (root / "docs").mkdir(parents=True)
    (root / "img").mkdir()
    (root / ".hidden").mkdir()
    for place in (root / "img" / "boat.jpg", tmp_path / "outside.jpg", root / ".hidden" / "a.jpg"):
        place.write_bytes(BOAT)
    (root / "img" / "secret.png").write_text("root:x:0:0")
    (root / "img" / "link.jpg").symlink_to("boat.jpg")
    (root / "img" / "out.jpg").symlink_to(tmp_path / "outside.jpg")
    (root / "away").symlink_to(tmp_path)
    os.mkfifo(root / "img" / "pipe.png")
    return root.resolve()


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("../img/boat.jpg", "img/boat.jpg"),
        ("../img/link.jpg", "img/boat.jpg"),
        ("../img/out.jpg", None),
        ("../away/outside.jpg", None),
        ("../../outside.jpg", None),
        ("../.hidden/a.jpg", None),
        ("../img/pipe.png", None),
        ("../img", None),
        ("gone.jpg", None),
        ("a" * 300, None),
    ],
)
def test_reference_outside_the_folder_is_ignored(tmp_path: Path, key: str, found: str | None) -> None:
    root = folder(tmp_path)
    assert find_linked_image(root / "docs" / "a.md", root, key) == (found and root / found)


@pytest.mark.parametrize(
    ("name", "start", "encoding"),
    [
        ("a.html", "", "utf-8-sig"),
        ("a.html", "", "utf-16"),
        ("a.html", "\ufeff", "utf-16-be"),
        ("a.htm", "<meta charset=iso-8859-1>", "latin-1"),
        ("a.md", "", "utf-16"),
        ("a.md", "", "latin-1"),
    ],
)
def test_references_use_the_encoding_of_the_file(
    tmp_path: Path, name: str, start: str, encoding: str
) -> None:
    (tmp_path / "Grün.png").write_bytes(PLAN)
    text = f'{start}<p>Schöne grüne Bäume am Ufer.</p>\n\n<img src="Grün.png" alt="Bäume">\n'
    content = text.encode(encoding)
    assert read_linked_files(tmp_path / name, tmp_path, content) == {"Grün.png": PLAN}
    if name != "a.md":
        assert len(convert_page(content, beside={"Grün.png": PLAN}).images) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["md", "html"])
def test_names_are_unquoted_once(tmp_path: Path, name: str, form: str) -> None:
    """Use the file from the link, the form, and the reference in the document."""
    (tmp_path / name).write_bytes(PLAN)
    reference = quote(name)
    said = f"![]({reference})" if form == "md" else f"<main>Words.<img src='{reference}'></main>"
    document, content = tmp_path / f"a.{form}", said.encode()
    beside = read_linked_files(document, tmp_path, content)
    assert beside == {name: PLAN}
    _, *parts = build_file_parts(content, {build_reference(key): image for key, image in beside.items()})
    given = {normalize_reference(called): image for _, (called, image) in parts}
    assert given == {name: PLAN}
    read = convert_markdown if form == "md" else convert_page
    assert len(read(content, beside=beside).images) == 1


def test_invalid_image_is_missing(tmp_path: Path) -> None:
    root = folder(tmp_path)
    document = root / "docs" / "a.md"
    content = b"![](../img/boat.jpg) ![](../img/secret.png) ![](../../outside.jpg)"
    assert read_linked_files(document, root, content) == {"../img/boat.jpg": BOAT}
    assert list_file_references(content, "a.txt") == ()
    boat, link = root / "img" / "boat.jpg", root / "img" / "link.jpg"
    paths = [("a", boat), ("b", link), ("c", boat)]
    read = read_linked_images(paths, read_regular, most=len(BOAT) + 10)
    assert (list(read.files), read.missing) == (["a"], ["b", "c"])


def taken(text: str, **beside: bytes) -> list[tuple[str, bool]]:
    made = convert_markdown(text.encode(), beside={"boat.jpg": BOAT, "plan.png": PLAN, **beside})
    assert made.text == text
    kept = ImageKeeper().keep([each.image for each in made.images])
    images = place_images(made.images, kept.images)
    record, _ = to_record(Incoming("notes", "a.md", text, format="markdown", images=images))
    joined = "".join(each.full_text for each in record.sources)
    assert "".join(joined.split()) == "".join(text.partition("---\n\n")[2].split() or text.split())
    return [(each.full_text.strip(), each.image is not None) for each in record.sources]


def test_image_on_its_own_line_is_a_source() -> None:
    text = 'The harbour.\n\n![A red boat](boat.jpg)\n\nThe plan:\n![Plan](plan.png "Of 1911")\nIt is old.\n'
    assert taken(text) == [
        ("The harbour.", False),
        ("![A red boat](boat.jpg)", True),
        ("The plan:", False),
        ('![Plan](plan.png "Of 1911")', True),
        ("It is old.", False),
    ]


def test_images_in_lists_links_and_tags_are_sources() -> None:
    text = (
        "![a](boat.jpg) ![b](plan.png)\n\n- ![c](boat.jpg)\n- words\n\n[![d](plan.png)](https://a.example)\n\n"
        '<p align="center">\n  <img src="boat.jpg" alt="e">\n</p>\n\n> ![f](boat.jpg)\n'
    )
    assert [text for text, picture in taken(text) if picture] == [
        "![a](boat.jpg)",
        "![b](plan.png)",
        "- ![c](boat.jpg)",
        "[![d](plan.png)](https://a.example)",
        '<p align="center">\n  <img src="boat.jpg" alt="e">\n</p>',
        "> ![f](boat.jpg)",
    ]


def test_images_in_sentences_tables_and_code_stay_text() -> None:
    text = (
        '---\ntitle: Boats\ncover: "![x](boat.jpg)"\n---\n\nSee ![this](boat.jpg) here.\n\n| a |\n| --- |\n'
        "| ![t](plan.png) |\n\n```\n![x](boat.jpg)\n```\n\n    ![x](boat.jpg)\n\n# Title ![h](boat.jpg)\n"
    )
    made = convert_markdown(text.encode(), beside={"boat.jpg": BOAT, "plan.png": PLAN})
    assert made.images == ()
    assert made.notes == ("skipped: images within sentences and tables (3)",)


def test_damaged_or_tiny_image_stays_text() -> None:
    made = convert_markdown(
        b"![a](a.png)\n\n![b](b.png)\n", beside={"a.png": BOAT[:99], "b.png": encoded(drawn(9, 9))}
    )
    assert made.images == ()
    assert made.notes == ("skipped: images in an unsupported format, or damaged (1)",)
