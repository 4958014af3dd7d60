"""The schema of the database: ordered statements in cypher/schema, recorded as they are applied.

The statements are idempotent (IF NOT EXISTS), and when two processes start at once the one that loses a race
begins again. A record of a name this version does not know means a newer schema: then nothing may start.
"""

from __future__ import annotations

import hashlib
import time
from typing import LiteralString, cast

import structlog

from kg_api import __version__
from kg_api.errors import SchemaTooNew
from kg_api.graph.database import Graph
from kg_api.graph.documents.metadata import PROJECT
from kg_api.graph.documents.same_text import SAID
from kg_api.graph.fulltext.scopes import FILL
from kg_api.graph.indexes import index_states
from kg_api.graph.relations.migration import RELATIONS
from kg_api.graph.retrying import while_schema_changes
from kg_api.graph.statements import area, statement

log = structlog.get_logger()

WAIT_SECONDS = 1.0
COMPUTED = {**FILL, **PROJECT, **SAID, **RELATIONS}
"""Migrations that are computed here: each takes the next portion and gives the id that it came to."""


def list_known() -> list[LiteralString]:
    """The names of all migrations of this version, in order."""
    return cast("list[LiteralString]", [*area("schema")])


def migrate(graph: Graph) -> list[str]:
    """Bring the schema up to this version.

    Returns:
        The names of the migrations that were applied now.

    Raises:
        SchemaTooNew: a newer kg has written this database.
        DatabaseUnavailable: Neo4j does not answer.
    """
    now = list[str]()
    _migrate(graph, now)
    return now


@while_schema_changes
def _migrate(graph: Graph, now: list[str]) -> None:
    """Apply what is missing, and note it; what was noted before a race was lost stays so."""
    refuse_newer(graph)
    applied = {row["name"] for row in graph.read("migrations/applied")}
    missing: list[LiteralString] = [name for name in list_known() if name not in applied]
    if missing:
        graph.write("migrations/constraint")
    for name in missing:
        _apply(graph, name)
        checksum = hashlib.sha256(statement(name).encode()).hexdigest()
        graph.write("migrations/record", name=name, checksum=checksum, kg_version=__version__)
        now.append(name)


def _apply(graph: Graph, name: LiteralString) -> None:
    """Run a statement; one that walks from `$after` on is run until it comes to its end."""
    if name in COMPUTED:
        _compute(graph, name)
        return
    text = statement(name)
    if "DROP INDEX" in text:
        _wait_for_indexes(graph)
    if "$after" not in text:
        graph.write(name)
        return
    after: str | None = ""
    while after is not None:
        after = graph.write(name, after=after)[0]["after"]


def _compute(graph: Graph, name: str) -> None:
    """A portion at a time, while others search and write."""
    after: str | None = ""
    while after is not None:
        after = graph.transaction(lambda tx, begin=after: COMPUTED[name](tx, begin))


def _wait_for_indexes(graph: Graph) -> None:
    """Wait until what takes an index's place is filled, so that no search is without."""
    while waiting := [each for each, state in index_states(graph).items() if state.state == "POPULATING"]:
        log.info("waiting for indexes to be filled", indexes=waiting)
        time.sleep(WAIT_SECONDS)


def refuse_newer(graph: Graph) -> None:
    """Stop when the database holds migrations that this version does not know.

    Raises:
        SchemaTooNew: naming them and the version that wrote them.
    """
    unknown = [row for row in graph.read("migrations/applied") if row["name"] not in list_known()]
    if unknown:
        newest = unknown[-1]
        raise SchemaTooNew(
            f"this database has the schema change {newest['name']!r}, written by kg {newest['kg_version']}; "
            f"this is kg {__version__}. Install that version or a later one; nothing was changed."
        )
