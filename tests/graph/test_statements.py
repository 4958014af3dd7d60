import ast
import logging
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.graph.statements import combine_reads
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.support.cypher import (
    STATEMENTS,
    explain,
    explained_with,
    make_image_index,
    make_tokens,
    parameters_of,
    statuses,
    statuses_of,
    summary_of,
)
from tests.support.embedders import small_embedder
from tests.support.schema import LABELS, RELATIONSHIPS

ROOT = Path(__file__).parents[2]
LOOKUP = "Lookup"
METHODS = {each: each for each in ("read", "write", "run")} | {LOOKUP: "read", "search": "read"}
FAILING_STATUSES = {
    "01N01": "deprecated",
    "01N50": "unknown label",
    "01N52": "unknown property",
    "03N90": "cartesian product",
}


@cache
def calls() -> list[tuple[str, str, frozenset[str] | None]]:
    """Yield the statement, the method, and the keywords from each call. If ** is used, the keywords are
    None.

    To parse all modules takes more than a second of CPU, which each process of tests would need to collect.
    """
    found: list[tuple[str, str, frozenset[str] | None]] = []
    for path in sorted((ROOT / "kg_api").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            method, name = method_of(node), node.args[0].value
            if method and isinstance(name, str) and "/" in name:
                keywords = frozenset(keyword.arg for keyword in node.keywords if keyword.arg)
                hidden = method == LOOKUP or len(keywords) < len(node.keywords)
                found.append((name, METHODS[method], None if hidden else keywords))
    return found


def method_of(call: ast.Call) -> str | None:
    if isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", None) == "re":
        return None  # `re.search` takes patterns
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    return name if name in METHODS else None


def parameters(name: str) -> frozenset[str]:
    return parameters_of(STATEMENTS[name])


def test_every_name_that_is_called_has_a_file() -> None:
    assert {name for name, _, _ in calls()} - STATEMENTS.keys() == set()


def test_every_file_is_called() -> None:
    called = {name for name, _, _ in calls()}
    migrated = re.compile(r"schema/|migrations/\d")  # the schema runs each of its statements by its folder
    assert {name for name in STATEMENTS if not migrated.match(name)} - called == set()


def test_call_keywords_match_statement_parameters() -> None:
    wrong = [(name, told) for name, _, told in calls() if told is not None and told != parameters(name)]
    assert wrong == []


def test_statement_has_no_semicolon() -> None:
    for name, text in STATEMENTS.items():
        assert ";" not in re.sub(r"//.*", "", text), name
        assert text.endswith("\n"), name


def test_a_blob_is_locked_when_its_use_ends() -> None:
    for name, text in STATEMENTS.items():
        for blob in re.findall(r"(?<!REMOVE )\b(\w+):LooseBlob(?=\s*$)", text, re.MULTILINE):
            assert f"SET {blob}.touched_at = datetime.realtime(), {blob}:LooseBlob" in text, name


def test_labels_and_relationship_types_are_of_the_vocabulary() -> None:
    for name, written in STATEMENTS.items():
        text = re.sub(r"//.*", "", written)
        labels = {label for found in re.findall(r"\(\w*:([\w|]+)", text) for label in found.split("|")}
        assert labels <= LABELS, name
        assert set(re.findall(r"\[\w*:(\w+)\]", text)) <= RELATIONSHIPS, name


@pytest.fixture(scope="module")
def explained(migrated_graph: Graph, server: Neo4jServer) -> Iterator[neo4j.Driver]:
    ensure_space(migrated_graph, small_embedder().identity)
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)
        wipe(driver)  # plans depend on how many nodes there are
        make_tokens(driver)
        make_image_index(driver)
        yield driver


@cache
def planned(driver: neo4j.Driver, name: str) -> neo4j.ResultSummary:
    text = STATEMENTS[name]
    return summary_of(driver, explain(text), explained_with(text))


def test_the_server_accepts_all(explained: neo4j.Driver) -> None:
    told = {name: statuses_of(planned(explained, name)) & FAILING_STATUSES.keys() for name in STATEMENTS}
    assert {name: failing for name, failing in told.items() if failing} == {}


def test_the_server_accepts_lookups_as_one_statement(explained: neo4j.Driver) -> None:
    for first in (name for name in STATEMENTS if name.startswith("search/by_vector")):
        several = (first, "search/exactly", "search/by_text")
        text = combine_reads(*((name, "default") for name in several))
        names = parameters_of(text)
        values = {name: 1 if name.startswith(("limit", "candidates")) else None for name in names}
        assert statuses(explained, explain(text), values) & FAILING_STATUSES.keys() == set(), first
        assert names == {f"{own}_{at}" for at, name in enumerate(several) for own in parameters(name)}


WRITING = re.compile(
    r"^\s*(?:MERGE|CREATE|DROP|SET|DELETE|DETACH|REMOVE|FOREACH|CALL db\.create\.\w+)\b", re.MULTILINE
)


def test_the_method_fits_the_statement() -> None:
    fitting = {True: {"write", "run"}, False: {"read", "run"}}
    called = {(name, method) for name, method, _ in calls()}
    wrong = [each for each in called if each[1] not in fitting[bool(WRITING.search(STATEMENTS[each[0]]))]]
    assert wrong == []


HOT = [
    *("sources/find", "sources/neighbours", "embedding/due", "embedding/refuse"),
    *("sources/hold", "sources/mark", "images/find", "embedding/write_vectors"),
]
HOT_CHUNKS = [
    "sources/of_document",
    "chunks/of_sources",
    "chunks/delete_others",
    "chunks/texts",
    "cache/read_vectors",
]
"""Statements that are run for each batch or search. They should not scan all data."""


HOT_CONCEPTS = [
    *("concepts/find_names", "concepts/forget_appearances", "concepts/forget_of_sources"),
    *("concepts/forget_quotes", "concepts/forget_relations", "concepts/hold", "concepts/hold_of_sources"),
    *("concepts/hold_sources", "concepts/mark_sources", "concepts/present_appearances"),
    *("concepts/present_quotes", "concepts/present_relations", "concepts/write_appearances"),
    *("concepts/write_names", "concepts/write_quotes", "concepts/write_relations"),
]


CONSTRUCTIVE = [each for each in STATEMENTS if each.startswith("constructive/")]
LISTED = [
    *("communities/find", "communities/page", "relations/search_in_documents"),
    *("proposals/count_due", "proposals/due"),
]
"""Statements that are run for each item in a list. They should not scan all data."""


def test_a_hot_statement_reads_an_index(explained: neo4j.Driver) -> None:
    for name in HOT + HOT_CHUNKS + HOT_CONCEPTS + CONSTRUCTIVE + LISTED:
        used = operators(explained, name)
        assert not used & {"AllNodesScan", "NodeByLabelScan"}, (name, used)
        assert any("IndexSeek" in operator for operator in used), (name, used)


LARGE = re.compile(r":(?:Source|Chunk|Concept|Instance|Document|CachedVector|CachedContext)\b")
"""Labels that can have millions of nodes. To use a composite index, a statement must use all of its
keys."""
RELATIONSHIPS_READ = "TypeScan"
READS_ALL = {
    "search/exactly": {"Source"},
    "sources/documents_fitting": {"Source"},
    "documents/facets": {"Document"},
    "documents/facet_of_kind": {"Document"},
    "documents/matching": {"Document"},
    "similar/nearest": {"Chunk"},
    "cache/prune_contexts": {"CachedContext"},
    "cache/prune_vectors": {"CachedVector"},
}
"""Statements that have to scan all data. If a filter is used for all ontologies, it has to be compared
with each document."""


def test_no_statement_scans_a_large_label(explained: neo4j.Driver) -> None:
    """The plans are made for an empty database."""
    usual = [name for name in STATEMENTS if not name.startswith(("schema/", "migrations/"))]
    read = {name: read_whole(explained, name) for name in usual}
    assert {name: kinds for name, kinds in read.items() if kinds} == READS_ALL


def read_whole(driver: neo4j.Driver, name: str) -> set[str]:
    """Return the large labels that are scanned by a statement."""
    read = set[str]()
    for operator, details in steps(driver, name):
        assert operator != "AllNodesScan", (name, details)
        if operator.endswith(RELATIONSHIPS_READ):
            read.add(RELATIONSHIPS_READ)
        elif operator.endswith("Scan"):
            read |= {each[1:] for each in LARGE.findall(details)}
    return read


def test_paging_statements_follow_an_index(explained: neo4j.Driver) -> None:
    for name in ("embedding/due", "blobs/loose"):
        assert not operators(explained, name) & {"Sort", "Top", "PartialTop"}, name


def operators(driver: neo4j.Driver, name: str) -> set[str]:
    return {operator for operator, _ in steps(driver, name)}


def steps(driver: neo4j.Driver, name: str) -> list[tuple[str, str]]:
    plan = planned(driver, name).plan
    assert plan is not None
    return list(walk(plan))


def walk(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield plan["operatorType"].partition("@")[0], str(plan["args"].get("Details", ""))
    for child in plan.get("children", []):
        yield from walk(child)
