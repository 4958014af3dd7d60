from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.mcp.answers import MIN_ROOM, Item, Position, count_json_tokens, fill, passage, read_citation

texts = st.text(alphabet='ab \n"\\é中😀', max_size=400)
rooms = st.integers(MIN_ROOM, 300)


def passages(given: list[str]) -> list[Item]:
    """Return passages from one document. Each of them is a source."""
    places, start = [], 0
    for at, text in enumerate(given):
        places.append(passage(f"s{at}#{start}-{start + len(text)}", text))
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


@given(st.lists(texts.filter(bool), max_size=12), rooms)
def test_continued_text_is_marked(given: list[str], room: int) -> None:
    parts = [part for step in walked(passages(given), room) for part in step]
    goes_on = [part.get("continues") is True for part in parts]
    sources = [part["citation"].partition("#")[0] for part in parts]
    assert goes_on == [at + 1 < len(sources) and sources[at + 1] == each for at, each in enumerate(sources)]


@given(st.lists(texts.filter(bool), min_size=1, max_size=12), rooms)
def test_a_step_keeps_to_its_room(given: list[str], room: int) -> None:
    frame = count_json_tokens(passage("s10#4000-4400", "", continues=True))
    for step in walked(passages(given), room):
        assert sum(count_json_tokens(part) for part in step) <= max(room, frame + MIN_ROOM) + 2


def test_divided_text_keeps_words_whole() -> None:
    text = "some words of a long paragraph " * 100
    first, *_ = walked(passages([text]), 200)
    assert first[0]["text"].endswith(" ")


def test_items_without_passages_are_returned_whole() -> None:
    items = [{"documents": 10**300}, {"documents": 1}]
    assert fill(items, Position(), MIN_ROOM) == ([items[0]], Position(1))
