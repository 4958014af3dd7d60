from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import UnreadableDocument
from kg_api.text.decoding import decode

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
    ("text", "encoding", "name"),
    [(GERMAN, "cp1252", "cp1252"), (RUSSIAN, "koi8_r", "koi8_r"), (CHINESE, "gb18030", "gb18030")],
)
def test_another_encoding_is_guessed_and_said(text: str, encoding: str, name: str) -> None:
    got, notes = decode(text.encode(encoding))
    assert got == text
    assert [note for note in notes if name in note and "not UTF-8" in note]


def docx() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"%PDF-1.7\nall of it is ASCII\n", "a PDF file"),
        (docx(), "ZIP archive"),
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
