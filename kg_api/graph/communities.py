"""Reading the concepts of an ontology for community detection, and storing communities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kg_api.errors import NotFound
from kg_api.graph.client import Graph, Reader, Row, Transaction, drop_deleted_rows
from kg_api.graph.names import MAX_OFFERED, report_unknown_ontology, require_one
from kg_api.graph.rows import convert_times
from kg_api.schemas.concepts import Concept
from kg_api.schemas.search import Place

PORTION: Final = 5000  # concepts or sources per round trip
FEWEST_TIES: Final = 2  # a concept with one source and no relationship belongs only to that source


@dataclass(frozen=True, slots=True)
class OntologySize:
    concepts: int
    relationships: int
    sources: int
    written: int  # sources of documents written since the given time
    at: datetime  # database time of the count


def read_size(graph: Graph, ontology: str, since: datetime | None = None) -> OntologySize:
    row = graph.read("communities/size", ontology=ontology, since=since)[0]
    return OntologySize(**convert_times(row))


def get_min_ties(graph: Graph, ontology: str, most: int) -> int:
    """Get the minimum number of ties, at least two, that at most `most` concepts have."""
    # Ties are the sources, relationships, and links of a concept.
    chosen = 0
    for row in graph.read("communities/ties", ontology=ontology):
        chosen += row["concepts"]
        if chosen > most:
            return max(FEWEST_TIES, row["ties"] + 1)
    return FEWEST_TIES


def read_tied(graph: Graph, ontology: str, least: int) -> Iterator[list[Row]]:
    """Yield batches of concepts with enough ties, sorted by id."""
    # `related` contains the concepts at the other end of relationships or links, with their number.
    after = ""
    while rows := graph.read(
        "communities/concepts", ontology=ontology, after=after, least=least, limit=PORTION
    ):
        after = rows[-1]["concept_id"]
        yield [row for row in rows if row["tied"]]


def read_carried(graph: Graph, ontology: str) -> Iterator[list[list[str]]]:
    """Yield batches of sources in reading order, each as a list of concept ids."""
    place = {"after": "", "after_paragraph": -1}
    while rows := graph.read("communities/sources", ontology=ontology, **place, limit=PORTION):
        place = {"after": rows[-1]["document_id"], "after_paragraph": rows[-1]["paragraph"]}
        yield [row["concept_ids"] for row in rows]


# Stored communities, replaced together

MAX_NAMED: Final = 10  # concepts per community for its name. More than a name has, as some may be deleted


@dataclass(frozen=True, slots=True)
class StoredState:
    ontology: str
    summary: str | None  # JSON (None: no detection yet)
    at: datetime | None  # time at which detection read the concepts


def read_states(graph: Reader, names: Sequence[str] | None = None) -> list[StoredState]:
    return [StoredState(**convert_times(row)) for row in graph.read("communities/state", names=names)]


def require_state(graph: Reader, ontology: str) -> None:
    if not read_states(graph, [ontology]):
        raise report_unknown_ontology(graph, ontology)


def replace_communities(
    tx: Transaction, ontology: str, communities: Sequence[Row], summary: str, at: datetime
) -> bool:
    """Replace the communities of an ontology. Return False if it was deleted."""
    if not tx.run("communities/clear", ontology=ontology, summary=summary, at=at):
        return False
    tx.run("communities/write", ontology=ontology, rows=communities)
    return True


CENTRAL: Final = 30  # most central concepts of a community, which determine its passages


def read_communities_page(
    graph: Reader, ontology: str, offset: int, limit: int
) -> tuple[StoredState, list[Row], int]:
    """Return the state of an ontology, a page of communities by size, and their total number."""
    rows = graph.read("communities/page", ontology=ontology, offset=offset, limit=limit, named=MAX_NAMED)
    if not rows:
        raise report_unknown_ontology(graph, ontology)
    state = convert_times(rows[0])
    return StoredState(ontology, state["communities"], state["at"]), rows[0]["found"], rows[0]["total"]


def find_community(graph: Reader, ontology: str, identifier: str) -> Row:
    """Find the community with an id or a prefix of it."""
    named = {"limit": MAX_OFFERED, "named": MAX_NAMED}
    rows = graph.read("communities/find", ontology=ontology, prefix=identifier, **named)
    stored = drop_deleted_rows([row["community"] for row in rows], ("community_id", "size"))
    found = require_one("community_id", identifier, stored)
    if found is None:
        require_state(graph, ontology)
        raise NotFound(
            f"community {identifier!r} not found in {ontology}. The communities may have changed: "
            "/ui/communities shows the existing ones"
        )
    return {**found, "computed_at": convert_times(rows[0])["at"]}


def read_details(graph: Graph, community_id: str, concepts: int, passages: int) -> Row:
    """Return the first `concepts` of a community, and its most relevant `passages`."""
    around = {"community_id": community_id, "most_concepts": CENTRAL, "limit": passages}
    members = graph.read("communities/members", community_id=community_id, limit=concepts)
    return {
        "concepts": drop_deleted_rows(members, Concept),
        "passages": [
            {"weight": row["weight"], "concepts": row["concepts"], "source": Place.model_validate(row)}
            for row in drop_deleted_rows(graph.read("communities/passages", **around), Place)
        ],
    }
