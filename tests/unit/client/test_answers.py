from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from kg_api import errors
from kg_api.client.answers import parse_problem, read
from kg_api.client.call import Call
from kg_api.errors import KgError, NotFound, ServiceUnreachable
from kg_api.schemas.operations import Health, Job
from kg_api.web.shared.problems import of_bug, of_error, problem

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
    told = of_error(error("what to do next"))
    with pytest.raises(KgError) as raised:
        read(JOB, response(told.status_code, bytes(told.body)))
    assert type(raised.value) is error
    assert str(raised.value) == "what to do next"
    assert told.status_code == error.status


def test_the_tree_is_whole_and_its_names_differ() -> None:
    assert len(ERRORS) >= 15
    assert len({each.slug() for each in ERRORS}) == len(ERRORS)


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
    nowhere = bytes(problem(404, "http", "Not Found", "nothing found at GET /x; /openapi.json").body)
    told = slashed("/ontologies/a%2Fb/proposals", nowhere)
    assert type(told) is NotFound
    assert str(told).startswith("nothing found at ")
    proxy = slashed("/ontologies/a%2Fb", "<html>")
    assert (type(proxy), str(proxy)) == (KgError, "kg answered 404 Not Found")
    newer = bytes(problem(404, "no-such-page", "NoSuchPage", "the book has 7 pages").body)
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
    told = parse_problem(bytes(of_error(errors.LlmUnavailable("what to do next")).body))
    assert (type(told), str(told)) == (errors.LlmUnavailable, "what to do next")
    assert "broke off" in str(parse_problem("no problem"))


def test_internal_error_reveals_nothing() -> None:
    answer = of_bug()
    with pytest.raises(KgError, match="See the log of the service"):
        read(JOB, response(answer.status_code, bytes(answer.body)))
