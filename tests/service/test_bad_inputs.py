"""Hostile requests to a running service: HARDENING 1-48. Test ids contain the number.

Each request gets its documented status, the next request works, and a canary is unharmed. Full-text
queries (2-17) are in test_strange_words.py, stored data (29, 30, 34, 44, 46, 47) in
test_bad_inputs_stored.py, and JSON with duplicate keys or too many levels (40, 41) in
tests/unit/web/test_strict_json.py.
"""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from tests.service.asking import CANARY, SEARCH, assert_unharmed, lay_canary, problem, search, texts, vector
from tests.support.running import Service

ONES = [1.0] * 256
JSON = {"content-type": "application/json"}
INJECTION = "'}) DETACH DELETE n //"
BACKTICKS = "a`) MATCH (n) DETACH DELETE n //"


@pytest.fixture(scope="module")
def before(service: Service, migrated_graph: Graph, driver: neo4j.Driver) -> dict[str, int]:
    """Canary to use in all the tests, because none of them should store anything."""
    return lay_canary(service.url, migrated_graph, driver)


@pytest.fixture(autouse=True)
def http(service: Service, driver: neo4j.Driver, before: dict[str, int]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=60) as client:
        yield client
        assert_unharmed(client, driver, before)


def case(number: int, name: str, *values: Any) -> Any:
    return pytest.param(*values, id=f"{number:02}-{name}")


REFUSED_SEARCHES = [
    case(1, "empty", {"query_text": ""}, "blank"),
    case(2, "blanks", {"query_text": " \t\n\u3000"}, "blank"),
    case(13, "over 20,000 characters", {"query_text": "x OR " * 5000}, "20,000"),
    case(14, "a megabyte", {"query_text": "x " * 500_000}, "20,000"),
    case(18, "null character", {"query_text": "a\x00b"}, "U+0000"),
    *(case(20, f"limit {k!r}", {"query_text": "a", "limit": k}, "limit") for k in (0, -1, 2**31, 10**9, 101)),
    *(case(20, f"limit {k!r}", {"query_text": "a", "limit": k}, "limit") for k in ("ten", 1.5, None, True)),
    case(21, "search has no offset", {"query_text": "a", "offset": 10**9}, "offset"),
    case(22, "wrong dimension", vector([1.0] * 255), "has 255 dimensions, but the space 'default' has 256"),
    case(24, "zero vector", vector([0.0] * 256), "zero"),
    case(26, "word in the vector", vector([*ONES[1:], "a"]), "query_vector.255"),
    case(26, "number as text in the vector", vector([*ONES[1:], "0.5"]), "query_vector.255"),
    case(26, "truth in the vector", vector([*ONES[1:], True]), "query_vector.255"),
    case(26, "nested vector", vector([ONES]), "query_vector.0"),
    case(26, "null in the vector", vector([*ONES[1:], None]), "query_vector.255"),
    case(27, "50,000 numbers", vector([0] * 50_000), "4,096"),
    case(28, "vector without its space", {"query_vector": ONES, "mode": "vector"}, "space"),
    case(31, "unknown field", {"query_text": "a", "author": "x"}, "author"),
    case(32, "a filter with an operator", {"query_text": "a", "ontology": {"$ne": "canary"}}, "ontology"),
    case(32, "an empty list as filter", {"query_text": "a", "ontology": []}, "ontology"),
    case(33, "null in a list", {"query_text": "a", "documents": [None]}, "documents.0"),
    case(35, "sort", {"query_text": "a", "sort": BACKTICKS}, "sort"),
    case(36, "relationship type", {"query_text": "a", "relationship_type": BACKTICKS}, "relationship_type"),
    case(37, "backtick in an ontology", {"query_text": "a", "ontology": BACKTICKS}, "ontology"),
    case(38, "cypher", {"query_text": "a", "cypher": "CALL dbms.components()"}, "cypher"),
    case(39, "ontology of 9,000 characters", {"query_text": "a", "ontology": "o" * 9000}, "ontology"),
    case(39, "document of 9,000 characters", {"query_text": "a", "documents": ["d" * 9000]}, "documents.0"),
    case(42, "window of 2^70", {"query_text": "a", "window_size": 2**70}, "window_size"),
    case(44, "owner", {"query_text": "a", "owner": "me", "is_admin": True}, "owner"),
    case(48, "window of 10^6", {"query_text": "a", "window_size": 10**6}, "window_size"),
]
"""21: you cannot use deep pages in a search, but you can in the lists below. 35, 36, 38: no field accepts
these names."""


@pytest.mark.parametrize(("body", "told"), REFUSED_SEARCHES)
def test_invalid_search_is_rejected_with_reason(http: httpx.Client, body: Any, told: str) -> None:
    assert told in problem(http.post(SEARCH, json=body), 422)


RAW = [
    case(14, "two megabytes", b'{"query_text": "' + b"x" * 2_000_000 + b'"}', 413, "larger than"),
    case(19, "lone surrogate", rb'{"query_text": "\ud800"}', 422, "query_text"),
    case(19, "lone surrogate as a field's name", rb'{"query_text": "a", "\udfff": 1}', 422, "unicode"),
    case(23, "NaN", b'{"query_vector": [NaN], "space": "default", "mode": "vector"}', 400, "NaN"),
    case(
        25, "1e400", b'{"query_vector": [1e400], "space": "default", "mode": "vector"}', 422, "query_vector"
    ),
    case(27, "10^6 numbers", b'{"query_vector": [' + b"0," * 10**6 + b"0]}", 413, "larger than"),
    case(45, "not JSON", b"query_text=a", 400, "JSON"),
    case(45, "nothing", b"", 422, "required"),
    case(45, "a list", b"[]", 422, "body"),
    case(45, "null", b"null", 422, "body"),
]


@pytest.mark.parametrize(("content", "status", "told"), RAW)
def test_invalid_json_is_rejected(http: httpx.Client, content: bytes, status: int, told: str) -> None:
    assert told in problem(http.post(SEARCH, content=content, headers=JSON), status)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml", ""])
@pytest.mark.parametrize("path", [case(45, "search", SEARCH), case(45, "ingest", "/documents")])
def test_other_content_type_is_rejected(http: httpx.Client, path: str, kind: str) -> None:
    content = b'{"query_text": "a"}'
    assert "application/json" in problem(
        http.post(path, content=content, headers={"content-type": kind}), 415
    )


@pytest.mark.parametrize(
    ("length", "first", "letters"), [case(13, "latin", 3, 0x61, 26), case(13, "chinese", 1, 0x4E00, 5000)]
)
def test_five_thousand_terms_are_truncated_with_note(
    http: httpx.Client, length: int, first: int, letters: int
) -> None:
    made = ("".join(chr(first + n // letters**i % letters) for i in range(length)) for n in range(5000))
    answer = search(http, " ".join(made), mode="text")
    assert answer["degraded"] == [
        {"part": "query", "effect": "full text: kg used the first 64 words and ignored 4936"}
    ]


@pytest.mark.parametrize(
    "word",
    [
        case(13, "1.a.1.a", "1.a." * 24),
        case(13, "a half", "a½" * 48),
        case(13, "two scripts", "aア" * 48),
        case(13, "marks", "e\u0301\u0323" * 32),
    ],
)
def test_words_split_by_the_analyzer_are_accepted(http: httpx.Client, word: str) -> None:
    search(http, " ".join(f"{word}{n}" for n in range(200)), mode="text")


@pytest.mark.parametrize(
    ("ontologies", "documents", "status"),
    [
        case(13, "1,000 documents of 4 ontologies", 4, 1000, 404),
        case(13, "1,000 documents of 6 ontologies, one of which is there", 6, 1000, 404),
        case(13, "1,000 ontologies, one of which is there", 1000, 0, 404),
        case(13, "1,001 ontologies", 1001, 0, 422),
    ],
)
def test_very_many_filters_are_applied_or_rejected(
    http: httpx.Client, ontologies: int, documents: int, status: int
) -> None:
    names = [*(f"o{n}" for n in range(ontologies - 1)), "canary"]
    body: dict[str, Any] = {"query_text": CANARY, "ontology": names}
    if documents:
        body["documents"] = [*(f"d{n}" for n in range(documents - 1)), "canary.txt"]
    response = http.post(SEARCH, json=body)
    assert response.status_code == status, response.text
    if status == 404:
        assert "o0" in response.json()["detail"]


@pytest.mark.parametrize(
    "path",
    [
        case(21, "offset", "/documents?offset=1000001"),
        case(21, "negative", "/documents?offset=-1"),
        case(21, "page of jobs", "/jobs?offset=99999999999999999999999"),
        case(20, "page size 0", "/documents?limit=0"),
        case(20, "page size 10^9", "/jobs?limit=1000000000"),
        case(20, "page size in words", "/jobs?limit=ten"),
        case(31, "unknown parameter", "/documents?author=x"),
        case(31, "misspelt parameter", "/jobs?ontologie=notes"),
        case(31, "a parameter twice", "/documents?ontology=canary&ontology=notes"),
        case(35, "sort", f"/documents?sort={BACKTICKS}"),
        case(36, "state", "/jobs?state=owned"),
        case(36, "kind", f"/jobs?kind={BACKTICKS}"),
        case(37, "backtick", f"/documents?ontology={BACKTICKS}"),
        case(37, "null character", "/documents?ontology=%00"),
        case(39, "id of 9,000 characters", "/documents/" + "d" * 9000),
        case(39, "source of 9,000 characters", "/sources/" + "s" * 9000),
        case(39, "job of 9,000 characters", "/jobs/" + "j" * 9000),
        case(42, "2^70", f"/documents?limit={2**70}"),
        case(48, "window", f"/sources/x/context?window_size={10**6}"),
        case(18, "null character in an id", "/sources/%00"),
    ],
)
def test_invalid_library_query_is_rejected(http: httpx.Client, path: str) -> None:
    problem(http.get(path), 422)


@pytest.mark.parametrize("kind", ["documents", "sources", "jobs"])
@pytest.mark.parametrize("identity", [case(34, "injection", INJECTION), case(34, "surrogate", "%ED%A0%80")])
def test_an_id_is_only_ever_compared(http: httpx.Client, kind: str, identity: str) -> None:
    problem(http.get(f"/{kind}/{identity.replace('/', '%2F')}"), 404)


def test_34_deleting_a_cypher_like_name_deletes_nothing(http: httpx.Client) -> None:
    response = http.delete("/documents/" + INJECTION.replace("/", "%2F"))
    assert response.status_code in {200, 404}
    problem(http.delete("/documents/%27%7D)"), 404)
    gone = http.delete(f"/ontologies/{INJECTION[4:-3]}").json()
    assert (gone["documents"], gone["sources"]) == (0, 0)


def test_28_vector_of_another_space_is_a_conflict(http: httpx.Client) -> None:
    assert "'other'" in problem(http.post(SEARCH, json=vector(ONES, space="other")), 409)


@pytest.mark.parametrize("scale", [3e38, 1e300, 1e-40, 5e-324])
def test_25_extreme_numbers_are_normalized(http: httpx.Client, scale: float) -> None:
    same = search(http, **vector(ONES))["sources"][0]["similarity"]
    assert search(http, **vector([scale] * 256))["sources"][0]["similarity"] == pytest.approx(same, abs=1e-6)


def test_33_null_filter_is_ignored(http: httpx.Client) -> None:
    assert texts(search(http, CANARY, ontology=None, documents=None, min_similarity=None)) == [CANARY]


def test_38_no_route_takes_cypher(http: httpx.Client) -> None:
    described = json.dumps(http.get("/openapi.json").json()["paths"]).lower()
    assert "cypher" not in described
    for path in ("/cypher", "/query", "/db/neo4j/tx/commit"):
        problem(http.post(path, json={"statement": "MATCH (n) DETACH DELETE n"}), 404)
    statement = {"jsonrpc": "2.0", "id": 1, "method": "cypher", "params": {"statement": "RETURN 1"}}
    answer = http.post("/mcp", json=statement, headers={"accept": "application/json, text/event-stream"})
    assert "result" not in answer.text


def document(**fields: Any) -> dict[str, Any]:
    return {"ontology": "bad", "document": "a.txt", "text": "some text", **fields}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        case(18, "null character", document(text="a\x00b"), "U+0000"),
        case(37, "backtick in an ontology", document(ontology=BACKTICKS), "ontology"),
        case(37, "slash in an ontology", document(ontology="../etc"), "ontology"),
        case(39, "name of 9,000 characters", document(document="d" * 9000), "document"),
        case(42, "2^70 in the metadata", document(metadata={"a": 2**70}), "64 bits"),
        case(43, "a map in the metadata", document(metadata={"a": {"b": 1}}), "metadata.a"),
        case(43, "a mixed list in the metadata", document(metadata={"a": [1, "x"]}), "metadata.a"),
        case(44, "is_admin", document(is_admin=True), "is_admin"),
        case(44, "state", document(state="done"), "state"),
        case(44, "an id of one's own", document(document_id="mine"), "document_id"),
        case(44, "a vector of one's own", document(embedding=ONES), "embedding"),
        case(45, "text that is no text", document(text=["a"]), "text"),
        case(1, "a document without text", document(text=" \n"), "no text"),
    ],
)
def test_invalid_document_is_rejected_and_not_stored(http: httpx.Client, body: Any, told: str) -> None:
    assert told in problem(http.post("/documents", json=body), 422)
