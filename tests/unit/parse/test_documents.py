import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Format
from kg_api.text.decoding import decode
from kg_api.text.documents import SUFFIXES, detect_format, parse
from kg_api.text.markdown import clean_title
from tests.support.hostile_files import packed


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("old.mbox", r"each message as \.eml"),
        ("a.MSG", r"each message as \.eml"),
        ("a.heic", "as JPEG or PNG"),
    ],
)
def test_mailboxes_and_images_are_rejected_with_a_fix(name: str, advice: str) -> None:
    with pytest.raises(UnreadableDocument, match=f"not supported.*{advice}"):
        detect_format(name)


@pytest.mark.parametrize("name", ["a.doc", "x/y.zip", "a.mp3"])
def test_unsupported_formats_list_the_supported_ones(name: str) -> None:
    with pytest.raises(UnreadableDocument, match=r"not supported.*Markdown.*DOCX.*EPUB"):
        parse("text", name)


@pytest.mark.parametrize(
    ("name", "given", "data", "expected"),
    [
        ("a.PDF", None, b"", "pdf"),
        ("a.htm", None, b"", "html"),
        ("a.tsv", None, b"", "csv"),
        ("a.docm", None, b"", "docx"),
        ("a.ppsx", None, b"", "pptx"),
        ("a.xlsm", None, b"", "spreadsheet"),
        ("a.txt", None, b"%PDF-1.7", "pdf"),
        ("a.html", "text", b"", "text"),
        ("a.md", "text", b"%PDF-1.7", "text"),
        ("README", None, b"words", "text"),
        ("NOTES.MARKDOWN", None, b"", "markdown"),
        ("pep-0008.rst", None, b"", "rst"),
        ("a.txt", "markdown", b"", "markdown"),
        ("a.txt", None, b"RIFF\x00\x00\x00\x00WEBP", "image"),
        ("a.txt", None, b"RIFF\x00\x00\x00\x00WAVE", "text"),
    ],
)
def test_the_kind_of_a_file(name: str, given: Format | None, data: bytes, expected: str) -> None:
    assert detect_format(name, given, data) == expected


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("# One\n\n# Two", "a.md", "One"),
        ("## Low\n\n# High", "a.md", "High"),
        ("---\ntitle: Front\n---\n# One", "a.md", "Front"),
        ("PEP: 8\nTitle: Style Guide\n\nIntro\n=====\n", "pep-0008.rst", "Style Guide"),
        ("Intro\n=====\n", "a.rst", "Intro"),
        ("no heading", "folder/my notes.md", "my notes"),
        ("no heading", "Minutes of 3. May", "Minutes of 3. May"),
        ("# no heading", "a.b.txt", "a.b"),
        ("no heading", "../../x.md", "x"),
        ("no heading", "a\x00\r\nb.md", "ab"),
        ("no heading", "\u202egpj.md", "gpj"),
        ("no heading", "x" * 5000, "x" * 199 + "…"),
    ],
)
def test_the_title(text: str, name: str, title: str) -> None:
    assert parse(text, name).title == title


def test_hidden_characters_are_noted() -> None:
    assert parse("pay\u200b me\u202e now, \U0001f469\u200d\U0001f467", "a.txt").notes == (
        "has 2 hidden characters (zero-width, or turning the direction of writing)",
    )
    assert parse("nothing hidden", "a.txt").notes == ()


def test_every_supported_extension_is_parsed() -> None:
    assert {".md", ".rst", ".txt", ".text", ".log", ".py"} <= SUFFIXES
    assert {".pdf", ".html", ".docx", ".eml"} <= SUFFIXES
    assert not {".zip", ".doc", ".svg"} & SUFFIXES
    for suffix in SUFFIXES:
        assert parse("text", f"a{suffix}").blocks


@pytest.mark.parametrize("raw", ["`a" + " " * 200_000, "`a <" * 500_000, ":a:`" * 500_000, "[a](" * 500_000])
def test_a_title_without_end_takes_no_time(raw: str) -> None:
    start = time.process_time()
    assert len(clean_title(raw)) <= 200
    assert time.process_time() - start < 2


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff"))
GERMAN = "Die Größe der Übermacht überraschte Müller; er äußerte sich später ausführlich darüber.\r\n"
RUSSIAN = "Широкая электрификация южных губерний даст мощный толчок подъёму сельского хозяйства.\n"
CHINESE = (
    "这是一个用来检查文字编码的普通段落，里面有逗号、句号和常用的汉字。今天的天气很好，我们去公园散步。\n"
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@given(text=TEXTS)
def test_utf8_round_trips(encoding: str, text: str) -> None:
    if not text.encode().startswith((b"%PDF-", b"PK", b"{\\rtf", b"GIF8", b"BZh", b"RIFF", b"7z")):
        assert decode(text.encode(encoding)) == (text, ())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@given(text=TEXTS)
def test_a_byte_order_mark_is_obeyed_and_removed(encoding: str, text: str) -> None:
    assert decode("\ufeff".encode(encoding) + text.encode(encoding)) == (text, ())


@pytest.mark.parametrize(
    ("before", "after"),
    [("Grüße für Köln, schöne Straße.\n", "Münster\n"), ("Grüße für Köln.\n", "Müller\n")],
)
def test_few_invalid_bytes_do_not_change_the_encoding(before: str, after: str) -> None:
    text, notes = decode(before.encode() + after.encode("latin-1"))
    assert (text, notes) == (before + after, ("read as UTF-8, with 1 invalid bytes read as cp1252",))


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [(GERMAN, "cp1252", "cp1252"), (RUSSIAN, "koi8_r", "koi8_r"), (CHINESE, "gb18030", "gb18030")],
)
def test_another_encoding_is_guessed_and_said(text: str, encoding: str, name: str) -> None:
    got, notes = decode(text.encode(encoding))
    assert got == text
    assert [note for note in notes if name in note and "not UTF-8" in note]


@pytest.mark.parametrize(
    ("text", "encoding"), [("日本語の文書①\n", "iso2022_jp_2004"), ("한국어 문서\n", "iso2022_kr")]
)
def test_escape_sequences_of_mail_encodings_are_decoded(text: str, encoding: str) -> None:
    got, notes = decode(text.encode(encoding))
    assert got == text
    assert "escape sequences" in notes[0]


def test_terminal_codes_are_not_an_encoding() -> None:
    text = "\x1b[1mprice\x1b[0m \x1b$B für\n"
    assert decode(text.encode()) == (text, ())


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ('<?xml version="1.0" encoding="shift_jis"?><a>日本語</a>', "shift_jis"),
        ('<?xml version="1.0" encoding="ISO-8859-2"?><a>žluťoučký</a>', "iso8859-2"),
        ("#!/usr/bin/python\n# -*- coding: koi8-r -*-\n# Привет\n", "koi8-r"),
        ("% coding: latin-1\nGröße\n", "latin-1"),
    ],
)
def test_declared_encoding_is_used(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == (text, ())


@pytest.mark.parametrize("label", ["punycode", "unicode-escape", "nonsense", "shift_jis"])
def test_impossible_declared_encoding_is_ignored(label: str) -> None:
    text = f"# coding: {label}\n{GERMAN}"
    got, notes = decode(text.encode("cp1252"))
    assert got == text
    assert "cp1252" in notes[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"%PDF-1.7\nall of it is ASCII\n", "a PDF file"),
        (packed({"word/document.xml": "<x/>"}), "ZIP archive"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "a PNG picture"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG picture"),
        (b"text\x00more", "NUL byte at 4"),
        ("Größe".encode("utf-16-le"), "UTF-16 without a byte-order mark"),
        (b"\xff\xfea\x00b", "byte-order mark declares utf-16-le"),
        (b"\xef\xbb\xbfabc\xff", "byte 6 does not match"),
        (bytes(range(128, 256)) * 40, "no other encoding matches"),
    ],
)
def test_non_text_is_rejected_with_detected_type(data: bytes, said: str) -> None:
    with pytest.raises(UnreadableDocument, match=said) as caught:
        decode(data)
    assert "Markdown" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\0\0\0\x1cftypavif\0\0\0\0mif1avifmiaf", "an AVIF image"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "a HEIC image"),
        (b"\0\0\0\x0cJXL \r\n\x87\n", "a JPEG XL image"),
        (b"8BPS\0\1", "a Photoshop image"),
    ],
)
def test_unsupported_image_suggests_an_export(data: bytes, said: str) -> None:
    with pytest.raises(UnreadableDocument, match=f"{said}.*Export the image as JPEG or PNG"):
        decode(data)


@given(data=st.binary(max_size=300))
def test_any_bytes_are_decoded_or_rejected(data: bytes) -> None:
    try:
        text, _ = decode(data)
    except UnreadableDocument:
        return
    assert "\x00" not in text
    text.encode()  # raises on lone surrogates
