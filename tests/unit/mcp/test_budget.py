from collections.abc import Mapping
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.lowlevel import Server

from kg_api.errors import InvalidInput
from kg_api.mcp.answers import (
    MIN_BUDGET,
    MIN_ROOM,
    Item,
    Paged,
    Pager,
    Position,
    build_passage,
    cut,
    estimate_tokens,
    fill,
    find_invisible_characters,
    read_citation,
)
from tests.support.library import MemoryLibrary
from tests.support.mcp import answer, call, failure, text_of, walk

texts = st.text(alphabet='ab \n"\\é中😀', max_size=400)
rooms = st.integers(MIN_ROOM, 300)


def passages(given: list[str]) -> list[Item]:
    """Return passages from one document. Each of them is a source."""
    places, start = [], 0
    for at, text in enumerate(given):
        places.append(build_passage(f"s{at}#{start}-{start + len(text)}", text))
        start += len(text)
    return places


def walked(items: list[Item], room: int) -> list[list[Item]]:
    steps, position = list[list[Item]](), Position()
    while position.index < len(items):
        step, after = fill(items, position, room)
        assert (after.index, after.offset) > (position.index, position.offset), "a walk gets on"
        steps.append(step)
        position = after
    return steps


@given(st.lists(texts.filter(bool), max_size=12), rooms)
def test_pages_return_everything_once_in_order(given: list[str], room: int) -> None:
    parts = [part for step in walked(passages(given), room) for part in step]
    assert "".join(part["text"] for part in parts) == "".join(given)
    whole = "".join(given)
    for part in parts:
        cited = read_citation(part["citation"])[1]
        assert cited is not None
        assert whole[cited.start : cited.end] == part["text"]


@pytest.mark.parametrize("letter", ["👩\u200d👩\u200d👧\u200d👦", "क्षे", "🇩🇪", "กำ"])
@pytest.mark.parametrize("room", range(MIN_ROOM, MIN_ROOM + 8))
def test_passage_without_spaces_is_split_between_letters(letter: str, room: int) -> None:
    parts = [part["text"] for step in walked(passages([letter * 60]), room) for part in step]
    assert len(parts) > 1
    assert all(part == letter * (len(part) // len(letter)) for part in parts)


@pytest.mark.parametrize("first", [{"name": "n" * 500}, {"citation": "c" * 500, "text": "a"}])
def test_item_that_cannot_be_split_is_returned_whole(first: Item) -> None:
    assert fill([first, {"name": "x"}], Position(), MIN_ROOM) == ([first], Position(1))


@pytest.mark.parametrize("text", ["x", "eyJhIjoxfQ", "A" * 55, "é" * 10, "=", " "])
def test_invalid_cursor_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInput, match="invalid or changed"):
        Pager("search_sources", Paged(cursor=text))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        *((text, []) for text in ("plain\ttext\r\n", "Übung, 日本語, 😀", "❤️")),
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
    found = build_passage("s#10-20", "abc\u200bdefghi")
    assert (found["text"], found["invisible"]) == ("abc\u200bdefghi", ["zero_width"])
    assert cut(found, 0, 4)["invisible"] == ["zero_width"]
    assert "invisible" not in cut(found, 4, 10)


def shown_texts(told: dict[str, Any]) -> list[tuple[str, str]]:
    lists = [told.get(name, []) for name in ("paragraphs", "hits", "similar")]
    given = [*([told["quote"]] if "quote" in told else []), *chain(*lists)]
    return [(each["citation"].partition("#")[0], each["text"]) for each in given]


def joined(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    whole: list[tuple[str, str]] = []
    for source, text in parts:
        if whole and whole[-1][0] == source:
            whole[-1] = (source, whole[-1][1] + text)
        else:
            whole.append((source, text))
    return whole


@pytest.mark.parametrize("budget", [MIN_BUDGET, 700, 1400])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_sources", {"query": "bees", "limit": 100}),
        ("get_source_context", {"window": 20}),
        ("read_document", {"start": 1}),
        ("find_similar_sources", {"limit": 100}),
    ],
)
def test_pages_equal_one_large_response(
    server: Server[Any], library: MemoryLibrary, tool: str, arguments: dict[str, Any], budget: int
) -> None:
    if tool == "read_document":
        arguments = {**arguments, "document": next(iter(library.places.values()))[0].document}
    elif "query" not in arguments:
        arguments = {**arguments, "citation": next(iter(library.places.values()))[2].source_id}
    large = answer(call(server, tool, **arguments, token_budget=100_000))
    assert "more" not in large

    def asking(given: Mapping[str, Any]) -> dict[str, Any]:
        result = call(server, tool, **given, token_budget=budget)
        assert estimate_tokens(text_of(result)) <= budget
        return answer(result)

    steps = list(walk(asking, arguments))
    assert len(steps) > 1
    assert joined([part for step in steps for part in shown_texts(step)]) == shown_texts(large)
    left = [step["more"]["left"] for step in steps[:-1]]
    assert left == sorted(left, reverse=True)


DOCUMENT_FIELDS = {"ontology", "document", "document_id", "title", "characters", "sources", "updated_at"}


@pytest.mark.parametrize(
    ("tool", "field", "told"),
    [
        ("list_documents", "documents", DOCUMENT_FIELDS),
        ("list_ontologies", "ontologies", {"ontology", "documents", "sources", "searchable"}),
    ],
)
def test_lists_are_walked_without_loss(
    server: Server[Any], library: MemoryLibrary, tool: str, field: str, told: set[str]
) -> None:
    for number in range(150):
        library.add(f"o{number:03}", "d", ["x"])
    steps = list(walk(lambda given: answer(call(server, tool, **given, token_budget=MIN_BUDGET)), {}))
    listed = [(each["ontology"], each.get("document")) for step in steps for each in step[field]]
    assert len(steps) > 3
    assert {key for step in steps for each in step[field] for key in each} == told
    assert listed == sorted(set(listed))
    assert len(listed) == {"documents": 181, "ontologies": 152}[field]


def more_of(server: Server[Any], tool: str, **arguments: Any) -> str:
    return answer(call(server, tool, **arguments, token_budget=MIN_BUDGET))["more"]["cursor"]


def test_paging_through_changed_data_is_an_error(server: Server[Any], library: MemoryLibrary) -> None:
    search = more_of(server, "search_sources", query="Note bees", limit=20)
    documents = more_of(server, "list_documents")
    library.add("nature", "bees.txt", ["All new"])
    library.add("aaa", "first", ["new"])
    said = failure(call(server, "search_sources", query="Note bees", limit=20, cursor=search))
    assert "Call again without the cursor" in said
    assert "Call again without the cursor" in failure(call(server, "list_documents", cursor=documents))
