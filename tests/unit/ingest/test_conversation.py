import base64
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.ingest.conversations import consolidate, format_heading
from kg_api.ingest.reader import DocumentReader, add_search_text
from kg_api.ingest.records import Incoming, build_incoming
from kg_api.schemas.documents import Converted, DocumentText, DocumentUpload, Message
from kg_api.schemas.formats import ConvertedFormat, Format, OcrMode
from kg_api.text.decoding import decode_json_escapes
from kg_api.text.documents import parse
from kg_api.text.image_references import take_inline_images
from kg_api.text.lines import is_blank
from kg_api.text.sources import split
from tests.support.images import drawn, encoded
from tests.support.picture_store import InThisProcess

HOSTILE = [
    "# a heading", "   ###### six\ntext", "a setext heading\n===", "another\n---\nmore", "|a\n---",
    "```\nnever closed\n# comment", "~~~~\nnever closed", "<!-- never closed", "<script>\nnever closed",
    "<div>\n# in a block", "---\ntitle: front matter\n---\n", "- item\n\n  # in an item\n",
    "1. one\n2. two\n# out of it", "> quote\n# out of it", "\ttab\n# h", "\r# carriage\rreturn",
    "line\u2028# separator", "[a]: /x\n===", "| a | b |\n| --- | --- |\n| 1 | 2 |\n# h",
    "    # indented\n\n# real", "- ```\n  open in an item", "<?php\n\n# h", "<![CDATA[\n\n# h",
    "\\# escaped\n===", "1.", "- > 2) *\n\n>",
]  # fmt: skip


def said(*texts: str) -> list[Message]:
    return [Message(author=f"Author {n}", timestamp=None, text=text) for n, text in enumerate(texts)]


def sections(messages: list[Message]) -> list[tuple[tuple[str, ...], str]]:
    document = parse(consolidate(messages, "Talk")[0], "Talk", "markdown")
    return [(span.heading, document.text[span.start : span.end]) for span in split(document)]


def assert_contained(messages: list[Message]) -> None:
    """There should be a heading for each message with text, and no other heading."""
    told = [each for each in messages if not is_blank(each.text)]
    text = consolidate(messages, "Talk")[0]
    headings = [block.title for block in parse(text, "Talk", "markdown").blocks if block.kind == "heading"]
    assert headings == ["Talk", *(each.author for each in told)]
    paths = [path for path, _ in sections(messages)]
    assert set(paths) == {("Talk", each.author) for each in told}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_in_its_message(text: str) -> None:
    assert_contained(said("before", text, "after"))
    assert_contained(said(text))
    assert_contained(said("x" * 100_001, text, "after"))


MARKS = st.sampled_from(
    [*HOSTILE, "#", "=", "-", "`", "```", "~~~", "<", ">", "|", "\n", "\n\n", " ", "    ", "a", "1.", "* "]
)
TEXTS = st.lists(MARKS, min_size=1, max_size=6).map("".join).filter(lambda text: not is_blank(text))


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_no_text_breaks_out(texts: list[str]) -> None:
    assert_contained(said(*texts))


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_every_word_is_kept_in_order(texts: list[str]) -> None:
    messages = said(*texts)
    document = consolidate(messages)[0]
    expected = [word for each in messages for word in [*each.author.split(), *re.findall(r"\w+", each.text)]]
    assert re.findall(r"\w+", document) == expected


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_added_message_keeps_earlier_sections(texts: list[str], last: str) -> None:
    before = sections(said(*texts))
    after = sections(said(*texts, last))
    stripped = [(path, text.rstrip()) for path, text in after]
    assert stripped[: len(before)] == [(path, text.rstrip()) for path, text in before]


def test_author_and_time_are_the_heading() -> None:
    message, zulu, offset = (
        Message.model_validate({"author": "Ada", "timestamp": f"2026-03-01T09:30:00{zone}", "text": "Hi"})
        for zone in ("+01:00", "Z", "+00:00")
    )
    assert consolidate([message], "Talk")[0] == "# Talk\n\n## Ada — 2026-03-01T09:30:00+01:00\n\nHi\n\n"
    assert consolidate([zulu])[0] == consolidate([offset])[0]


@pytest.mark.parametrize("words", ["a\n# b", "C #", "###", "x ##", "a\r\n\r\nb", "\u2028# x", "C#"])
def test_heading_is_one_line_with_all_words(words: str) -> None:
    document = parse(format_heading(words, 2) + "text", "d", "markdown")
    (only,) = [block for block in document.blocks if block.kind == "heading"]
    assert only.title == " ".join(words.split())


def test_empty_messages_are_skipped_and_reported() -> None:
    text, notes = consolidate(said("one", " \n", "\u200b", "two"))
    assert notes == ("2 blank messages were skipped: number 2, 3",)
    assert "Author 1" not in text
    with pytest.raises(InvalidInput, match="all messages are empty"):
        consolidate(said("", "\n"))


TOLD = ("read as an image, although the extension differs",)


@pytest.mark.parametrize(
    ("name", "form", "told"),
    [
        *((name, None, TOLD) for name in ("liar.txt", "photo", "photo.pdf")),
        *(("photo.JPEG", None, ()), ("liar.txt", "image", ())),
    ],
)
def test_image_with_another_extension_is_reported(
    name: str, form: Format | None, told: tuple[str, ...]
) -> None:
    reader = DocumentReader(InThisProcess()).for_previews()
    read, notes = reader.from_bytes(encoded(drawn()), Incoming("notes", name, "", format=form))
    assert read.format == "image"
    assert notes == told


BOAT = encoded(drawn(64, 48))
ADDRESS = f"data:image/png;base64,{base64.b64encode(BOAT).decode()}"
TAKEN = "images in data URLs were removed from the text (1)"


@pytest.mark.parametrize(
    "source",
    [
        f"![A boat]({ADDRESS})",
        f'<img alt="A boat" src="{ADDRESS}">',
        f"![A boat][boat]\n\n[boat]: {ADDRESS}",
        f"See ![A boat]({ADDRESS}) here",
    ],
    ids=["alone", "tag", "definition", "sentence"],
)
def test_image_in_address_becomes_a_note(source: str) -> None:
    text = f"Before.\n\n{source}\n\nAfter 5.\n"
    read, notes = DocumentReader(Asked()).from_bytes(text.encode(), Incoming("n", "a.md", ""))
    assert "base64" not in read.text
    assert "A boat" in read.text
    assert read.text.endswith("After 5.\n")
    assert TAKEN in notes


def test_sent_text_keeps_no_image_bytes() -> None:
    reader = DocumentReader(InThisProcess()).for_previews()
    read, told = reader.read_sent_text(Incoming("n", "a.md", f"![A boat]({ADDRESS})\n\nAfter 5.\n"))
    assert (read.text.startswith("![A boat](inline-"), told) == (True, (TAKEN,))


@pytest.mark.parametrize("text", [f"`![x]({ADDRESS[:99]})`\n", f"Write {ADDRESS}\n", "data:\n"])
def test_addresses_shown_as_text_stay(text: str) -> None:
    assert take_inline_images(text) == (text, 0)


@pytest.mark.parametrize("name", ["a.json", "A.JSONL"])
def test_escaped_letters_of_json_are_decoded(name: str) -> None:
    value = {"name": "Müller 😀", "path": "C:\\u00e9", "break": "\u2028", "quote": '"\x7f'}
    incoming = Incoming("n", name, text := json.dumps(value))
    reader = DocumentReader(Asked())
    (read, _), (sent, _) = reader.from_bytes(text.encode(), incoming), reader.read_sent_text(incoming)
    assert read.text == sent.text
    assert json.loads(read.text) == value
    assert read.text.startswith('{"name": "Müller 😀", "path": "C:\\\\u00e9", "break": "\\u2028"')


def test_escapes_stay_outside_of_json() -> None:
    incoming = Incoming("n", "a.py", text := '"\\u00e9"')
    assert DocumentReader(Asked()).read_sent_text(incoming)[0].text == text


def test_references_of_xml_are_decoded_except_tags() -> None:
    text = "<p>Caf&#233; &amp; Stra&#xDF;e &eacute; &lt;b&gt; &unknown; &#10;</p><![CDATA[a &amp; b]]>"
    incoming = Incoming("n", "a.xml", text)
    shown = "<p>Café & Straße é &lt;b&gt; &unknown; &#10;</p><![CDATA[a &amp; b]]>"
    assert DocumentReader(Asked()).from_bytes(text.encode(), incoming)[0].text == shown


def test_terminal_colors_of_a_log_are_removed() -> None:
    incoming = Incoming("n", "a.log", "\x1b[1;31merror\x1b[0m \x1b]0;title\x07done")
    assert DocumentReader(Asked()).read_sent_text(incoming)[0].text == "error done"


@pytest.mark.parametrize(("name", "stored"), [("a\nb\r\n.md", "a b .md"), ("a\n", "a"), ("\n", " ")])
def test_name_with_line_break_becomes_one_line(name: str, stored: str) -> None:
    assert DocumentText(ontology="n", document=name, text="x").document == stored


def test_half_escapes_of_json_stay() -> None:
    text = r'"\U00e9 \u00e \ud83d \ude00 \\u00e9'
    assert decode_json_escapes(text) == text


def test_description_precedes_text_of_the_image() -> None:
    metadata: dict[str, Any] = {"description": "On  the\nbeach", "n": 1}
    told = add_search_text(Converted("A boat"), "sea/IMG_9.jpg", "Pebbles", metadata)
    assert told.text == "sea IMG 9\nPebbles\nOn the beach\nA boat"


class Asked:
    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted:
        return Converted(f"{form} {ocr} {len(data)}")

    def get_ocr_fingerprint(self) -> str:
        return ""


@pytest.mark.parametrize("sent", [{}, {"ocr": "always"}, {"ocr": "never"}])
def test_ocr_field_reaches_the_converter(sent: dict[str, str]) -> None:
    upload = DocumentUpload.model_validate({"ontology": "notes", "document": "a.pdf", **sent})
    read, _ = DocumentReader(Asked()).from_bytes(b"%PDF-", build_incoming(upload, ""))
    assert read.text == f"pdf {sent.get('ocr', 'auto')} 5"


CHANGES: dict[str, Any] = {
    "document": "b.pdf",
    "uri": "file:///a",
    "title": "A",
    "metadata": {"tags": ["x"]},
    "modified": "2026-01-01T00:00:00Z",
    "ocr": "always",
    "format": "text",
}


def test_file_hash_covers_everything_that_affects_its_document() -> None:
    reader, sent = DocumentReader(Asked()), Incoming("notes", "a.pdf", "")
    hashes = [
        reader.hash_sent(b"a", sent),
        reader.hash_sent(b"b", sent),
        *(reader.hash_sent(b"a", replace(sent, **{name: value})) for name, value in CHANGES.items()),
        replace(reader, keep_pdfs=True).hash_sent(b"a", sent),
    ]
    assert len({*hashes}) == len(hashes)
    assert reader.hash_sent(b"a", replace(sent, review=True)) == hashes[0]


@pytest.mark.parametrize("name", ["मंदिर", "วัดที่", "Zu\u0308rich"])
def test_name_of_an_image_keeps_its_vowel_signs(name: str) -> None:
    told = add_search_text(Converted(""), f"{name}/{name}_02.jpg", None, {})
    assert told.text == f"{name} {name} 02"
