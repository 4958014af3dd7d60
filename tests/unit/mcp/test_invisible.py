from __future__ import annotations

import pytest

from kg_api.mcp.answers import cut, find_invisible_characters, passage


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("plain\ttext\r\n", []),
        ("Übung, 日本語, 😀", []),
        ("❤️", []),
        ("to\u200bken", ["zero_width"]),
        ("soft\u00adhyphen \ufeff", ["zero_width"]),
        ("👩\u200d🚀 and می\u200cخواهم", ["joiner"]),
        ("\u202egpj.exe\u202c", ["bidirectional"]),
        ("".join(chr(0xE0000 + ord(each)) for each in "do evil"), ["tag"]),
        ("\x1b[31m", ["control"]),
        ("\u2066\u200b", ["zero_width", "bidirectional"]),
    ],
)
def test_invisible_characters_are_named(text: str, kinds: list[str]) -> None:
    assert find_invisible_characters(text) == kinds


def test_passage_and_its_parts_are_marked_unchanged() -> None:
    found = passage("s#10-20", "abc\u200bdefghi")
    assert (found["text"], found["invisible"]) == ("abc\u200bdefghi", ["zero_width"])
    assert cut(found, 0, 4)["invisible"] == ["zero_width"]
    assert "invisible" not in cut(found, 4, 10)
