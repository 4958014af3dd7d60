from typing import Any

import pytest
from pydantic import ValidationError

from kg_api.errors import InvalidInput
from kg_api.schemas.answers import AnswerRequest, AugmentRequest
from kg_api.schemas.base import Body
from kg_api.schemas.constructive import ConstructiveQuery
from kg_api.schemas.documents import DocumentText, Message
from kg_api.schemas.embedding import Chunking
from kg_api.schemas.filters import DocumentDeletion, FacetRequest
from kg_api.schemas.image_search import ImageSearch
from kg_api.schemas.operations import NewKey
from kg_api.schemas.problems import MAX_ERRORS, describe_problems, list_field_problems, validate
from kg_api.schemas.search import SourceSearch
from kg_api.schemas.similarity import GraphRequest
from kg_api.schemas.spaces import NewSpace
from kg_api.schemas.vocabulary import MAX_QUERY_CHARACTERS

LONGER = (
    "query_text: at most 20,000 characters are allowed. For a longer text: kg augment, POST /queries/augment"
)
SLUG = "slug: lower-case letters, digits and '_' are allowed, 40 at most. The first character is a letter"
DOCUMENT = {"ontology": "o", "document": "d", "text": "t"}
VECTOR: dict[str, Any] = {"query_vector": [0.5], "space": "default", "mode": "vector"}


SEARCHES: list[tuple[dict[str, Any], str]] = [
    ({"query_text": "a" * (MAX_QUERY_CHARACTERS + 1)}, "query_text"),
    ({"query_text": "a", "space": "default"}, "go together"),
    ({"query_vector": [0.5], "mode": "vector"}, "go together"),
    ({**VECTOR, "mode": "hybrid"}, "mode 'hybrid' needs query_text"),
    ({**VECTOR, "query_vector": [0.0, -0.0]}, "has no direction"),
    ({**VECTOR, "query_vector": [float("nan")]}, "query_vector.0"),
    ({"query_text": "a", "mode": "text", "min_similarity": 0.5}, "min_similarity needs vectors"),
    ({"query_text": "a", "concepts": True, "graph": True}, "Omit one of the two"),
    ({"query_text": "a", "hyde": 2, "mode": "text"}, "hyde computes the vector"),
    ({**VECTOR, "query_text": "a", "hyde": 2}, "hyde computes the vector"),
    ({"query_text": "a", "hyde": "auto", "cursor": "c"}, "hyde has no pages"),
]


def test_usual_searches_are_accepted() -> None:
    for body in ({"mode": "text", "hyde": "auto"}, VECTOR, {**VECTOR, "mode": "text", "min_similarity": 0.5}):
        validate(SourceSearch, {"query_text": "a", **body})
    for name in ("concepts", "graph"):
        assert validate(SourceSearch, {"query_text": "a", name: True}).follows_concepts
    assert not validate(SourceSearch, VECTOR).follows_concepts


@pytest.mark.parametrize(
    "value", ["a", 1, 0, -(2**63) + 1, 2**63 - 1, 0.5, True, False, None, ["a"], [1], [True], []]
)
def test_metadata_keeps_its_types(value: object) -> None:
    document = document_with({"key": value})
    assert document.metadata == {"key": value}
    assert type(document.metadata["key"]) is type(value)


@pytest.mark.parametrize(
    "metadata",
    [
        *(
            {"a": value}
            for value in (2**63, -(2**63), float("inf"), float("nan"), {"b": 1}, "\x00", "\ud800")
        ),
        *({"a": value} for value in ([1, "b"], [[1]], [2**63], [float("nan")], ["\x00"], [1] * 101)),
        *({key: 1} for key in ("\x00", "\ud800", "k" * 201, "a\nb")),
        *({"date": value} for value in ("2025-13-31", "2025-02-30", "2025-13", ["2025-01", "2025-00"])),
        {"modified": "2025-02-30"},
        {f"k{n}": n for n in range(65)},
        {f"k{n}": "x" * 9000 for n in range(8)},
        [],
        None,
    ],
)
def test_metadata_that_cannot_be_stored(metadata: Any) -> None:
    with pytest.raises(ValidationError):
        document_with(metadata)


def test_uncertain_dates_are_stored() -> None:
    given = {"date": "someday", "modified": "2025-02", "part": "2025-13"}
    assert document_with(given).metadata == given


def document_with(metadata: Any) -> DocumentText:
    return DocumentText.model_validate({**DOCUMENT, "metadata": metadata})


def test_list_of_whole_and_other_numbers_is_stored() -> None:
    assert document_with({"k": [1, 2.5]}).metadata == {"k": [1.0, 2.5]}


def test_problems_name_fields_without_values() -> None:
    body = {"query_text": "SECRET", "ontology": ["SECRET`"], "documents": ["ok", "SECRET" * 999]}
    with pytest.raises(ValidationError) as raised:
        SourceSearch.model_validate({**body, "limit": "SECRET"})
    problems = list_field_problems(raised.value.errors())
    assert {each.field for each in problems} == {"ontology", "ontology.0", "documents.1", "limit"}
    assert "SECRET" not in repr(problems)


@pytest.mark.parametrize(
    ("model", "body", "told"),
    [
        (SourceSearch, {"query_text": ""}, "query_text: is blank"),
        (
            SourceSearch,
            {"query_text": "a", "hyde": 9},
            "hyde: Input should be less than or equal to 5, or: Input should be 'auto'",
        ),
        (SourceSearch, {"query_text": "a" * 50_000}, LONGER),
        (
            DocumentText,
            {**DOCUMENT, "metadata": {"tags": {"a": 1}}},
            "metadata.tags: must be a text, a number, true, false, or a list of one of these types",
        ),
        *(
            (
                DocumentText,
                {**DOCUMENT, "metadata": {"tags": mixed}},
                "metadata.tags: must be a text, a number, true, false, or a list of one of these types",
            )
            for mixed in (["1", 2], [True, 1], ["true", True])
        ),
        (DocumentText, {**DOCUMENT, "title": ""}, "title: at least 1 character must be given"),
        (NewSpace, {"slug": "MINI", "provider": "local"}, SLUG),
        (DocumentDeletion, {"where": []}, "where: give at least one"),
        (DocumentDeletion, {"where": ["date>=2025-13"]}, "where.0: '2025-13' is not a calendar day or month"),
    ],
)
def test_problems_are_in_words(model: type[Body], body: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(body)
    assert describe_problems(raised.value.errors()) == told


MESSAGE = {"author": "a", "text": "t"}


@pytest.mark.parametrize(
    ("model", "body", "told"),
    [
        *((SourceSearch, *each) for each in SEARCHES),
        (AnswerRequest, {"question": " …! "}, "no word"),
        (AnswerRequest, {"question": "a", "mode": "text", "min_similarity": 0.5}, "min_similarity"),
        (AnswerRequest, {"question": "a", "mode": "text", "hyde": 2}, "hyde"),
        (SourceSearch, {"query_text": "a", "mode": "text", "hyde": 1}, "hyde"),
        (SourceSearch, {"query_text": "a", "query_vector": [1.0], "space": "default", "hyde": 1}, "hyde"),
        (AugmentRequest, {}, "text or messages"),
        (AugmentRequest, {"text": "a", "messages": [MESSAGE]}, "one of the two"),
        (AugmentRequest, {"text": "a", "chunk_tokens": 100}, "overlap_tokens"),
        (AugmentRequest, {"text": "a", "mode": "text", "min_similarity": 0.5}, "min_similarity"),
        (GraphRequest, {"source_ids": ["a"], "documents": ["d"]}, "cannot be used together"),
        (ImageSearch, {}, "query_text or source_id"),
        (ImageSearch, {"query_text": "a", "source_id": "b"}, "query_text or source_id"),
        (NewSpace, {"slug": "space__b", "provider": "local"}, "names that end with __b"),
        (NewKey, {"name": "0123abcd"}, "looks like a key"),
        (Chunking, {"strategy": "none"}, "strategy"),
        (Chunking, {"strategy": ["paragraph"]}, "strategy"),
        (Chunking, {"strategy": "hierarchical", "chunk_size": 400, "parent_size": 500}, "from 800"),
        (Chunking, "paragraph", "write a JSON object"),
        (FacetRequest, {"fields": ["page"]}, "pages cannot be counted"),
        (FacetRequest, {"fields": ["updated_at"]}, "updated_at:month"),
        (FacetRequest, {"fields": ["kind:year"]}, "kind is not a date"),
        (Message, {**MESSAGE, "text": "\ud800"}, "surrogate"),
        (Message, {**MESSAGE, "text": "a\x00"}, "U+0000"),
        (Message, {**MESSAGE, "author": " "}, "blank"),
        (Message, {**MESSAGE, "timestamp": "2026-03-01T09:30:00"}, "add the time zone, such as 2026"),
        (Message, {**MESSAGE, "timestamp": 1_772_000_000}, "ISO 8601"),
        (Message, {**MESSAGE, "timestamp": "yesterday"}, "ISO 8601"),
    ],
)
def test_invalid_requests_have_clear_messages(model: type[Body], body: Any, told: str) -> None:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(body)
    assert told in describe_problems(raised.value.errors())


@pytest.mark.parametrize(
    ("model", "body", "told"),
    [
        (ConstructiveQuery, {"steps": [], "second": 1}, "second: unknown field. Did you mean 'seconds'?"),
        (Message, {**MESSAGE, "colour": 1}, "colour: unknown field. Known fields: author, timestamp, text"),
        (
            AugmentRequest,
            {"messages": [{**MESSAGE, "tex": 1}]},
            "messages.0.tex: unknown field. Did you mean 'text'?",
        ),
        (
            ConstructiveQuery,
            {"steps": [{"step": "limit", "nodes": 1, "colour": 1}]},
            "step 1, limit.colour: unknown field. Known fields: step, nodes, kinds",
        ),
        (
            ConstructiveQuery,
            {"steps": [{"step": "sed"}]},
            "step 1: unknown 'step': 'sed'. Write 'seed', 'expand', 'filter', 'rank', 'limit'",
        ),
        (ConstructiveQuery, {"steps": [{}, "a"]}, "step 1: 'step' is required; step 2: write a JSON object"),
    ],
)
def test_message_about_an_unknown_name_lists_others(
    model: type[Body], body: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        validate(model, body)
    assert told in str(raised.value)


def test_problems_are_not_endless() -> None:
    with pytest.raises(ValidationError) as raised:
        SourceSearch.model_validate({f"unknown {n}": n for n in range(1000)})
    assert len(list_field_problems(raised.value.errors())) == MAX_ERRORS
