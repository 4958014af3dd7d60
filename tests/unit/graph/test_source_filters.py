from typing import Any

import pytest

from kg_api.errors import InvalidInput
from kg_api.graph.client import Row
from kg_api.graph.filters import NOTHING, SourceFilter, describe_missing_keys, filter_sources, split_clauses
from kg_api.schemas.filters import Clause, DocumentFilter, list_conditions

LOW, HIGH = -(2**31), 2**31


def where(*lines: Any) -> list[Clause]:
    return DocumentFilter.model_validate({"where": list(lines)}).where


def matching(clauses: Any) -> list[str]:
    return [f"{each.field}{each.op}{each.value}" for each in list_conditions(clauses)]


def group(*pages: Row, **other: Any) -> Row:
    return {"documents": None, "without": None, "image": None, "pages": list(pages)} | other


def on(*spans: tuple[int, int], wanted: bool = True) -> Row:
    return {"spans": [{"first": first, "last": last} for first, last in spans], "wanted": wanted}


def built(*lines: Any) -> SourceFilter:
    return filter_sources(split_clauses(where(*lines))[1], matching)


@pytest.mark.parametrize(
    ("line", "page"),
    [
        ("page=2", on((2, 2))),
        ("page contains 2", on((2, 2))),
        ("page in 2, 5", on((2, 2), (5, 5))),
        ("page>=3", on((3, HIGH))),
        ("page>3", on((4, HIGH))),
        ("page<=3", on((LOW, 3))),
        ("page<3", on((LOW, 2))),
        ("page!=2", on((2, 2), wanted=False)),
        ("page exists", on((LOW, HIGH))),
        ("page does not exist", on((LOW, HIGH), wanted=False)),
    ],
)
def test_page_condition_becomes_spans(line: str, page: Row) -> None:
    assert built(line) == SourceFilter(None, [[group(page)]])


@pytest.mark.parametrize(
    ("line", "image"),
    [
        ("kind=image", True),
        ("kind=passage", False),
        ("kind!=image", False),
        ("kind in image, passage", None),
        ("kind exists", None),
    ],
)
def test_kind_condition_becomes_a_label(line: str, image: bool | None) -> None:
    assert built(line) == SourceFilter(image)


def test_contradicting_kinds_fit_nothing() -> None:
    for lines in (("kind=image", "kind=passage"), ("kind does not exist",)):
        assert built(*lines) == SourceFilter(fits=NOTHING)
    assert built("kind=image").restrict_to_kinds(["passage"]) == SourceFilter(fits=NOTHING)
    images = built("kind=image").restrict_to_kinds(None), built().restrict_to_kinds(["image"])
    assert images == (SourceFilter(True), SourceFilter(True))
    assert built("page=2").restrict_to_kinds(["passage"]) == SourceFilter(False, [[group(on((2, 2)))]])


def test_alternatives_join_conditions_of_sources_and_documents() -> None:
    assert built("author=Ada", "page=2 || author=Bob && kind=image || kind does not exist") == SourceFilter(
        None, [[group(on((2, 2))), group(documents=["author=Bob"], image=True)]]
    )
    assert split_clauses(where("author=Ada", "page=2 || author=Bob"))[0] == where("author=Ada")


def test_negative_conditions_exclude_whole_documents() -> None:
    def having(fitting: SourceFilter) -> list[str]:
        return [repr(fitting)]

    clauses = where("page=2 && kind!=image", "page does not exist", "kind=image")
    images, paged = repr(SourceFilter(True)), repr(SourceFilter(None, [[group(on((LOW, HIGH)))]]))
    assert filter_sources(clauses, matching, having) == SourceFilter(
        True, [[group(on((2, 2)), without=[images])], [group(without=[paged])]]
    )


@pytest.mark.parametrize(
    ("key", "known", "message"),
    [
        ("title", [], r"'metadata\.title'\. Did you mean 'title'\?$"),
        ("uri", ["author"], r"'metadata\.uri'\. Did you mean 'uri'\?$"),
        ("titel", ["title"], r"'titel'\. Did you mean 'title', 'metadata\.title'\?$"),
        ("auhtor", ["author"], r"'auhtor'\. Did you mean 'author'\?$"),
    ],
)
def test_missing_key_suggests_fields_as_written(key: str, known: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        describe_missing_keys([key], known)


def test_known_metadata_key_is_not_reported_missing() -> None:
    assert describe_missing_keys(["title"], ["title"]) == []
    assert [each.effect for each in describe_missing_keys(["zz"], ["title"])] == [
        "no document has the field 'zz'"
    ]
