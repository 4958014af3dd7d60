from __future__ import annotations

import time

import pytest

from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Format
from kg_api.text.documents import SUFFIXES, detect_format, parse
from kg_api.text.markdown import plain_title


@pytest.mark.parametrize(
    ("name", "format_", "expected"),
    [
        ("a/b/notes.md", None, "markdown"),
        ("NOTES.MARKDOWN", None, "markdown"),
        ("pep-0008.rst", None, "rst"),
        ("a.txt", None, "text"),
        ("module.py", None, "text"),
        ("README", None, "text"),
        ("Minutes of 3. May", None, "text"),
        ("", None, "text"),
        ("a.txt", "markdown", "markdown"),
        ("report.pdf", "markdown", "markdown"),
        ("a.md", "text", "text"),
    ],
)
def test_format_follows_option_or_extension(name: str, format_: Format | None, expected: str) -> None:
    assert parse("text", name, format_).format == expected


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
        ("a.txt", None, b"%PDF-1.7", "pdf"),
        ("a.html", "text", b"", "text"),
        ("a.md", "text", b"%PDF-1.7", "text"),
        ("README", None, b"words", "text"),
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
    ],
)
def test_the_title(text: str, name: str, title: str) -> None:
    assert parse(text, name).title == title


@pytest.mark.parametrize(
    ("name", "title"),
    [("../../x.md", "x"), ("a\x00\r\nb.md", "ab"), ("\u202egpj.md", "gpj"), ("x" * 5000, "x" * 199 + "…")],
)
def test_hostile_name_becomes_a_plain_title(name: str, title: str) -> None:
    assert parse("no heading", name).title == title


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
    assert len(plain_title(raw)) <= 200
    assert time.process_time() - start < 2
