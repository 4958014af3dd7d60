import contextlib
import inspect
import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kg_api import errors
from kg_api.client import KgClient
from kg_api.client.answers import parse_problem, read
from kg_api.client.call import Call, Unset, build_body
from kg_api.errors import InvalidInput, KgError, NotFound, ServiceUnreachable
from kg_api.schemas.operations import Health, Job
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.web.shared.problems import build_error_problem, respond_with_problem
from tests.support.bundles import configuration
from tests.support.routes import build_openapi


class Recorder(KgClient):
    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.calls: list[Call[Any]] = []

    def _send(self, call: Call[Any]) -> Any:
        self.calls.append(call)
        return SourceHits.model_construct(sources=[]) if call.answer is SourceHits else None  # the last page

    def _follow(self, call: Call[Any], silence: float = 0.0) -> Generator[Any]:  # noqa: ARG002 - it waits for nothing
        self.calls.append(call)
        yield from ()


def call_of(ask: Callable[[KgClient], object]) -> Call[Any]:
    with Recorder() as kg, contextlib.suppress(ServiceUnreachable):  # an answer that breaks off
        asked = ask(kg)
        if isinstance(asked, Generator):
            list(cast("Generator[Any]", asked))
    (call,) = kg.calls
    return replace(call, convert=None, events=None)


VALUES: dict[str, Any] = {
    "configuration": configuration(),
    "documents": [{"text": "t", "ontology": "o", "document": "d"}],
    "fields": ["author"],
    "format": 1,
    "groups": [["k8s", "kubernetes"]],
    "key": "0" * 64,
    "key_id": "0" * 64,
    "language": "de",
    "merged": ["b"],
    "messages": [{"author": "a", "text": "t"}],
    "page": 1,
    "path": "/f",
    "provider": "openai",
    "relevance": 1,
    "schema_version": 120,
    "stance": "supports",
    "steps": [{"step": "seed", "value": "a"}],
    "where": ["a=1"],
} | dict.fromkeys(("content", "file", "lines"), b"t")
"""Values of the required arguments that are no text."""
OPTIONS: dict[str, dict[str, Any]] = {
    "approve": {"documents": ["d"]},
    "augment": {"text": "a"},
    "change_document": {"title": "t"},
    "open_import": {"replace": False},  # sent, because the default of another version may differ
    "page_image": {"document": "document_id"},
    "reject": {"all": True},
    "search_images": {"query_text": "a"},
    "search_sources": {"query_text": "a"},
    "source_graph": {"ontology": "o"},
}


def ask_method(kg: KgClient, name: str, **options: Any) -> Any:
    """Call a method with its required arguments. Each text is the name of its argument, to see swaps."""
    method = getattr(kg, name)
    parameters = inspect.signature(method).parameters.values()
    needed = (each.name for each in parameters if each.default is each.empty)
    return method(**{each: VALUES.get(each, each) for each in needed} | OPTIONS.get(name, {}) | options)


METHODS = [
    name for name, _ in inspect.getmembers(KgClient, inspect.isfunction) if name[0] != "_" and name != "close"
]


def describe_operations() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the defaults of query parameters by method and path, with the values of `ask_method`."""
    return {
        (method.upper(), re.sub(r"{(\w+)}", lambda name: str(VALUES.get(name[1], name[1])), path)): {
            each["name"]: each["schema"].get("default")
            for each in operation.get("parameters", ())
            if each["in"] == "query"
        }
        for path, methods in build_openapi()["paths"].items()
        for method, operation in methods.items()
        if path not in {"/", "/metrics"}  # for people, for Prometheus
    }


def test_client_has_a_call_for_every_operation() -> None:
    asked = [lambda kg, name=name: ask_method(kg, name) for name in METHODS]
    calls = map(call_of, [*asked, lambda kg: kg.embedding_status("ontology")])
    assert {(call.method, call.path) for call in calls} == describe_operations().keys()


CHOSEN: dict[str, Any] = {
    "context_template": "{title}",
    "expected_digest": "0" * 32,
    "modified": "2026-01-31",
    "where": ["b=2"],
}
"""Values of optional arguments whose type allows others."""
ALTERNATIVES: dict[str, list[dict[str, Any]]] = {
    "approve": [{"documents": None, "all": True}],
    "augment": [{"text": None, "messages": [{"author": "b", "text": "b"}]}],
    "reject": [{"documents": ["b"], "all": False}],
    "search_images": [{"query_text": None, "source_id": "b"}],
    "search_sources": [
        {"query_text": None, "mode": "vector", "query_vector": [vector], "space": space}
        for vector, space in [(0.5, "a"), (0.25, "a"), (0.25, "b")]
    ],
}
"""Arguments that exclude or need others: each row differs from the one before."""


def build_other_value(annotation: Any, default: Any) -> Any:  # noqa: PLR0911 - a case each
    """Return a value of a type that is not the default."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return next(each for each in arguments if each != default)
    if origin in {Union, UnionType}:
        chosen = next(each for each in arguments if each not in {Unset, NoneType})
        return build_other_value(chosen, default)
    if origin is Sequence:
        return [build_other_value(arguments[0], None)]
    if origin is dict:
        return {"b": 2}
    if annotation is int:
        return default + 1 if isinstance(default, int) else 20
    if annotation is float:
        return default + 0.125 if isinstance(default, int | float) else 0.125
    return {bool: default is not True, datetime: datetime(2026, 1, 31)}.get(annotation, "b")  # noqa: DTZ001


@pytest.mark.parametrize("name", METHODS)
def test_every_option_changes_the_request(name: str) -> None:
    method = inspect.unwrap(getattr(KgClient, name))
    hints, usual = get_type_hints(method), call_of(lambda kg: ask_method(kg, name))
    alternatives, parameters = ALTERNATIVES.get(name, []), {*usual.params}
    defaults = describe_operations()[usual.method, usual.path]
    for each in inspect.signature(method).parameters.values():
        if each.default is each.empty or any(each.name in options for options in alternatives):
            continue
        value = CHOSEN.get(each.name) or build_other_value(hints[each.name], each.default)
        call = call_of(lambda kg, options={each.name: value}: ask_method(kg, name, **options))
        assert call != usual, each.name
        parameters |= call.params.keys()
        if each.name not in OPTIONS.get(name, {}):
            assert usual.params.get(each.name) in {defaults.get(each.name), None}, each.name
            assert each.name not in (usual.json or usual.data or ()), "the default of the service"
    assert parameters == defaults.keys()
    calls = [usual, *(call_of(lambda kg, one=one: ask_method(kg, name, **one)) for one in alternatives)]
    assert all(before != after for before, after in pairwise(calls))


def test_idempotency_key_is_a_header() -> None:
    for name in METHODS:
        if "idempotency_key" in inspect.signature(getattr(KgClient, name)).parameters:
            call = call_of(lambda kg, name=name: ask_method(kg, name, idempotency_key="once"))
            assert call.headers["Idempotency-Key"] == "once", name


def test_client_closes_its_connections() -> None:
    with KgClient("http://127.0.0.1:1") as kg:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        kg.health()


@given(st.text(min_size=1).filter(str.strip))
@example("guide/../install.md")
def test_id_is_one_escaped_path_segment(identity: str) -> None:
    asking: list[Callable[[KgClient], object]] = [
        lambda kg: kg.document(identity),
        lambda kg: kg.job(identity),
        lambda kg: kg.delete_ontology(identity),
    ]
    for call in map(call_of, asking):
        assert call.path.count("/") == 2
        assert call.path.isascii()
        assert not set("?#; \r\n") & set(call.path)


def test_invalid_id_is_rejected_before_sending() -> None:
    for method in ("follow_job", "job", "document", "source_context", "delete_ontology"):
        for identity, told in ((None, "not None"), (" ", "but the value is blank")):
            with pytest.raises(InvalidInput, match=f"an id or a name was expected, {told}"):
                call_of(lambda kg, name=method, identity=identity: getattr(kg, name)(identity))


def test_only_nondefault_values_are_sent() -> None:
    searching = call_of(lambda kg: kg.search_sources("a", ontology=None, mode="hybrid", limit=5))
    assert searching.json == {"query_text": "a", "limit": 5}
    assert call_of(lambda kg: kg.documents(limit=1)).params == {"offset": 0, "limit": 1}
    storing = call_of(lambda kg: kg.ingest_text("t", ontology="o", document="d", metadata={"a": 1}))
    assert storing.json == {"text": "t", "ontology": "o", "document": "d", "metadata": {"a": 1}}


def test_none_is_the_default_unless_it_means_something() -> None:
    unset: Any = None
    assert call_of(lambda kg: kg.search_sources("a", mode=unset, rerank=unset)).json == {"query_text": "a"}
    assert call_of(lambda kg: kg.augment("a", per_document=None)).json == {"text": "a", "per_document": None}
    assert call_of(lambda kg: kg.augment("a")).json == {"text": "a"}
    reset = call_of(lambda kg: kg.set_embedding_config("o", strategy=None, overlap=0))
    assert reset.json == {"strategy": None, "overlap": 0}
    assert call_of(lambda kg: kg.set_extraction_config("o", per_source=None)).json == {"per_source": None}


def test_an_upload_is_a_file_with_fields() -> None:
    call = call_of(lambda kg: kg.ingest_bytes(b"t", ontology="o", document="d", metadata={"a": "é"}))
    assert call.files == {"file": ("file", b"t")}
    assert call.data is not None
    assert call.data.keys() == {"ontology", "document", "metadata"}
    assert json.loads(str(call.data["metadata"])) == {"a": "é"}
    assert (call.data["ontology"], call.data["document"]) == ("o", "d")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"limit": 0}, "limit"),
        ({"ontology": "a`"}, "ontology: letters and digits"),
        ({"min_similarity": float("nan")}, "min_similarity"),
        ({"query_text": ""}, "query_text: is blank"),
        ({"query_text": None}, "query_text is missing"),
        ({"mode": "colour"}, "mode"),
    ],
)
def test_invalid_search_is_rejected_before_sending(options: dict[str, Any], told: str) -> None:
    with Recorder() as kg, pytest.raises(InvalidInput, match=told):
        kg.search_sources(**dict[str, Any]({"query_text": "a"}) | options)
    assert kg.calls == []


@pytest.mark.parametrize(("line", "value"), [("page=1", 1), ("draft=true", True)])
def test_a_condition_is_sent_with_its_value(line: str, value: object) -> None:
    """1 equals True, and default values are not sent."""
    (sent,) = build_body(SourceSearch, {"query_text": "?", "where": [line]})["where"]
    assert (sent["value"], type(sent["value"])) == (value, type(value))


REQUEST = httpx.Request("GET", "http://user:SECRET@127.0.0.1:8420/jobs/x?token=SECRET")
JOB, HEALTH = Call("GET", "/jobs/x", Job), Call("GET", "/health", Health)


def tree(top: type[KgError]) -> Iterator[type[KgError]]:
    yield top
    for branch in top.__subclasses__():
        yield from tree(branch)


ERRORS = [each for each in tree(KgError) if each.__module__ == errors.__name__]


def response(status: int, content: bytes | str, kind: str = "application/json") -> httpx.Response:
    return httpx.Response(status, content=content, headers={"content-type": kind}, request=REQUEST)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_class_round_trips(error: type[KgError]) -> None:
    """From the service's own writer of problems to the client's reader."""
    told = build_error_problem(error("what to do next"))
    with pytest.raises(KgError) as raised:
        read(JOB, response(told.status_code, bytes(told.body)))
    assert type(raised.value) is error
    assert str(raised.value) == "what to do next"
    assert told.status_code == error.status


@pytest.mark.parametrize("slug", ["http", "of-a-newer-kg", ""])
def test_unknown_error_type_keeps_its_message(slug: str) -> None:
    body = f'{{"type": "urn:kg:{slug}", "detail": "what it said"}}'
    with pytest.raises(KgError, match="what it said") as raised:
        read(JOB, response(418, body))
    assert type(raised.value) is KgError


def slashed(path: str, content: bytes | str) -> KgError:
    request = httpx.Request("GET", f"http://127.0.0.1:8420{path}")
    with pytest.raises(KgError) as raised:
        read(JOB, httpx.Response(404, content=content, request=request))
    return raised.value


def test_an_unknown_path_is_not_found() -> None:
    nowhere = bytes(
        respond_with_problem(404, "http", "Not Found", "nothing found at GET /x; /openapi.json").body
    )
    told = slashed("/ontologies/a%2Fb/proposals", nowhere)
    assert type(told) is NotFound
    assert str(told).startswith("nothing found at ")
    proxy = slashed("/ontologies/a%2Fb", "<html>")
    assert (type(proxy), str(proxy)) == (KgError, "kg answered 404 Not Found")
    newer = bytes(respond_with_problem(404, "no-such-page", "NoSuchPage", "the book has 7 pages").body)
    assert str(slashed("/jobs/a%2Fb", newer)) == "the book has 7 pages"


@pytest.mark.parametrize(
    "body", ["", "<html>", "[]", "null", "{}", '{"type": 7}', '{"type": "urn:kg:not-found"}']
)
def test_error_without_problem_body_shows_its_status(body: str) -> None:
    with pytest.raises(KgError, match="502 Bad Gateway"):
        read(JOB, response(502, body))


@pytest.mark.parametrize("body", ["", "<html>", "[]", "{}", '{"version": 1}'])
def test_foreign_response_is_reported_without_secrets(body: str) -> None:
    with pytest.raises(ServiceUnreachable, match="KG_API_URL") as raised:
        read(HEALTH, response(200, body))
    assert "127.0.0.1:8420/jobs/x" in str(raised.value)
    assert "SECRET" not in str(raised.value)


def test_fields_of_newer_responses_are_ignored() -> None:
    assert read(HEALTH, response(200, '{"version": "9", "mood": "good"}')).version == "9"


def test_problem_within_a_stream_round_trips() -> None:
    told = parse_problem(bytes(build_error_problem(errors.LlmUnavailable("what to do next")).body))
    assert (type(told), str(told)) == (errors.LlmUnavailable, "what to do next")
    assert "broke off" in str(parse_problem("no problem"))
