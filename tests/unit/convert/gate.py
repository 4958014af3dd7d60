import re
from collections.abc import Callable, Iterable

import pytest

from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import BlockKind, Converted
from kg_api.text.markdown import parse_blocks

ZIP_HEAD = b"PK\x03\x04"
BAD_BYTES = (
    b"",
    b"   \n",
    bytes(range(256)) * 40,
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000),
    ZIP_HEAD + bytes(500),
)


def words(text: str) -> list[str]:
    return re.findall(r"[\w'’.,:;()äöüß]+", text)


def assert_in_order(converted: Converted, passages: Iterable[str]) -> None:
    text, at = f" {' '.join(words(converted.text))} ", 0
    for passage in passages:
        wanted = f" {' '.join(words(passage))} "
        found = text.find(wanted, at)
        assert found >= 0, f"{passage!r} is not in order in {text[at : at + 500]!r}"
        at = found + len(wanted) - 1


def kinds(text: str) -> list[BlockKind]:
    return [block.kind for block in parse_blocks(text)]


def assert_refuses_bad_bytes(convert: Callable[[bytes], Converted], good: bytes = b"") -> None:
    for data in BAD_BYTES:
        with pytest.raises(UnreadableDocument, match=r"\w+ \w+"):
            convert(data)
    step = max(len(good) // 40, 1)
    for at in range(0, len(good), step):
        for data in (good[:at], good[:at] + b"\xff\x00~" + good[at + 3 :]):
            try:
                convert(data)
            except UnreadableDocument:
                continue
