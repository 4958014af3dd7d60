"""Schema for the database, with migrations and the state of its indexes."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Any, Final, LiteralString, cast

import structlog

from kg_api import __version__
from kg_api.errors import DatabasePanicked, KgError, SchemaTooNew, SchemaTooOld, Unavailable
from kg_api.graph.client import Graph, while_schema_changes
from kg_api.graph.statements import build_statement, read_area


@dataclass(frozen=True, slots=True)
class IndexState:
    """Index as shown by the server. `percent` is the share that can be used."""

    name: str
    type: str
    state: str
    percent: float
    options: dict[str, Any]

    @property
    def online(self) -> bool:
        return self.state == "ONLINE"


def read_index_states(graph: Graph) -> dict[str, IndexState]:
    return {row["name"]: IndexState(**row) for row in graph.search("indexes/states")}


# Database schema: a baseline (cypher/schema.cypher) and migrations (cypher/migrations.cypher)
#
# Every statement is idempotent (IF NOT EXISTS) and recorded after it ran. If two processes start at once, the
# slower one starts over.

log = structlog.get_logger()

BASELINE: Final = "200_schema"  # record of the baseline. Migrations continue its number: `// name: 201_...`
WAIT_SECONDS = 1.0
_BEFORE_BASELINE = "schema/"  # prefix of records by versions before the baseline


def list_known() -> list[str]:
    """List the records of a complete schema: the baseline, then each migration in order."""
    return [BASELINE, *(name.rpartition("/")[2] for name in _list_migrations())]


def _list_migrations() -> list[LiteralString]:
    return cast(
        "list[LiteralString]",
        [name for name in read_area("migrations") if name.rpartition("/")[2][0].isdigit()],
    )


def migrate(graph: Graph) -> list[str]:
    """Create the schema, or migrate an older schema to this version."""
    now = list[str]()
    _migrate(graph, now)
    return now


@while_schema_changes
def _migrate(graph: Graph, now: list[str]) -> None:
    applied = {row["name"] for row in require_known_schema(graph)}
    if BASELINE not in applied:
        graph.write("migrations/constraint")
        texts = cast("dict[LiteralString, str]", read_area("schema"))
        for name in texts:
            graph.write(name)
        _record(graph, BASELINE, "".join(texts.values()), now)
    for name in _list_migrations():
        if (record := name.rpartition("/")[2]) not in applied:
            _apply(graph, name)
            _record(graph, record, build_statement(name), now)


def _record(graph: Graph, name: str, text: str, now: list[str]) -> None:
    checksum = hashlib.sha256(text.encode()).hexdigest()
    graph.write("migrations/record", name=name, checksum=checksum, kg_version=__version__)
    now.append(name)


def _apply(graph: Graph, name: LiteralString) -> None:
    """Run a migration. If it uses `$after`, it returns the end of its batch. This is repeated until null."""
    text = build_statement(name)
    if "DROP INDEX" in text:
        # Wait until the replacement of a dropped index is populated, so that searches always have an index
        while waiting := [
            each for each, state in read_index_states(graph).items() if state.state == "POPULATING"
        ]:
            log.info("waiting for indexes to be filled", indexes=waiting)
            time.sleep(WAIT_SECONDS)
    if "$after" not in text:
        graph.write(name)
        return
    after: str | None = ""
    while after is not None:
        after = graph.write(name, after=after)[0]["after"]


def require_known_schema(graph: Graph) -> list[dict[str, str]]:
    """Read the schema records. If this version cannot use the schema, raise an error."""
    rows = graph.read("migrations/applied")
    unknown = [row["name"] for row in rows if row["name"] not in list_known()]
    if not unknown:
        return rows
    if unknown[-1].startswith(_BEFORE_BASELINE):
        raise SchemaTooOld(
            f"this database has the schema {unknown[-1]!r} of an earlier version, which kg {__version__} "
            "cannot read. Start kg with an empty KG_HOME and ingest the documents again. Nothing was changed."
        )
    raise SchemaTooNew(
        f"this database has the schema {unknown[-1]!r}, written by kg {rows[-1]['kg_version']}, but this is "
        f"kg {__version__}. Install that version or a later one. Nothing was changed."
    )


# Probe of a database that has started


class DatabaseProbe:
    """Probe by a query, because a server that has panicked still accepts connections."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def trouble(self) -> str | None:
        """Explain why Neo4j does not answer a query. None: it answers, or settings are wrong."""
        error = self._ask()
        return str(error) if isinstance(error, Unavailable) else None

    def panic(self) -> str | None:
        """Return the error if only a restart of Neo4j helps. None: Neo4j answers, or may recover."""
        error = self._ask()
        return str(error) if isinstance(error, DatabasePanicked) else None

    def _ask(self) -> KgError | None:
        try:
            self._graph.read("probes/alive")
        except KgError as error:
            return error
        return None
