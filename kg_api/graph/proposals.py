"""Link proposals: their settings, pending nodes, and decisions."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from kg_api.errors import Conflict, NotFound
from kg_api.graph.client import Graph, Reader, Row, Transaction, drop_deleted_rows
from kg_api.graph.names import identify_proposal, report_unknown_ontology
from kg_api.graph.reach import get_visible_ontologies, resolve_ontology
from kg_api.graph.rows import convert_times
from kg_api.graph.spaces import Space
from kg_api.schemas.base import build_proposal_id
from kg_api.schemas.proposals import Proposal, ProposalEnd
from kg_api.schemas.search import Place
from kg_api.schemas.vocabulary import LINKED, ProposalKind, ProposalState


@dataclass(frozen=True, slots=True)
class StoredProposals:
    ontology: str
    proposed_for: str | None  # fingerprint of the thresholds for which all nodes are flagged
    searched_at: datetime | None  # end of the last complete search


def read_proposals(graph: Reader, ontology: str) -> StoredProposals:
    if found := _read_states(graph, [ontology]):
        return found[0]
    raise report_unknown_ontology(graph, ontology)


def read_all_proposals(graph: Reader) -> list[StoredProposals]:
    return _read_states(graph, None)


def _read_states(graph: Reader, names: list[str] | None) -> list[StoredProposals]:
    return [StoredProposals(**convert_times(row)) for row in graph.read("proposals/state", names=names)]


def note_flagged(tx: Transaction, ontology: str, mark: str) -> None:
    """Record that all nodes of an ontology are flagged for some thresholds."""
    tx.run("proposals/flagged", name=ontology, mark=mark)


def flag_all_nodes(graph: Graph, ontology: str) -> None:
    graph.write("proposals/flag_again", name=ontology)


def note_searched(tx: Transaction, ontology: str) -> None:
    tx.run("proposals/searched", name=ontology)


# Pending nodes: sources and concepts that were embedded or extracted since the last search for links
#
# They have a second label, `Unlinked`. Embedding and extraction set it, and the search removes it.

PORTION: Final = 5000  # nodes to flag per transaction
FlaggedTo = tuple[str, int]  # last flagged node: document and paragraph of a source, or id and 0 of a concept


@dataclass(frozen=True, slots=True)
class DueNode:
    """Source or concept that needs a search for links."""

    id: str
    text_hash: str
    at: str | None  # time of its vector (None: skip the node)


def count_due(graph: Reader, ontology: str) -> int:
    return graph.search("proposals/count_due", ontology=ontology)[0]["due"]


def read_due(graph: Graph, kind: ProposalKind, ontology: str, space: Space, limit: int) -> list[DueNode]:
    parameters = {
        "kind": kind,
        "ontology": ontology,
        "time_property": get_time_property(kind, space),
        "limit": limit,
    }
    return [DueNode(**row) for row in graph.read("proposals/due", **parameters)]


def flag_portion(
    tx: Transaction, kind: ProposalKind, ontology: str, space: Space, after: FlaggedTo
) -> FlaggedTo | None:
    """Flag the next nodes in an ontology. You get the last one, or None at the end."""
    parameters = {
        "kind": kind,
        "ontology": ontology,
        "time_property": get_time_property(kind, space),
        "limit": PORTION,
    }
    rows = tx.run("proposals/flag", **parameters, after=after[0], after_paragraph=after[1])
    return (rows[0]["after"], rows[0]["after_paragraph"]) if rows else None


def note_seen(tx: Transaction, kind: ProposalKind, space: Space, nodes: Sequence[DueNode]) -> None:
    """Remove the flags from locked nodes, if they were not embedded since then."""
    rows = [{"id": each.id, "at": each.at} for each in nodes]
    tx.run("proposals/seen", kind=kind, rows=rows, time_property=get_time_property(kind, space))


def get_time_property(kind: ProposalKind, space: Space) -> str:
    return (space if kind == "source" else space.at("")).time_property


# Accepted links of merged concepts


def move_links(tx: Transaction, ontology: str, gone: str, kept: str) -> list[Row]:
    """Move accepted links from a merged concept to the other. The caller has locked both."""
    # A link is not moved and is deleted if the two are already linked or a user rejected that link.
    rows = tx.run("proposals/links_of_concept", concept_id=gone)
    moves = [{**row, "becomes": build_proposal_id(ontology, "concept", kept, row["other"])} for row in rows]
    return _move(tx, gone, kept, moves)


def give_links_back(tx: Transaction, moved: Sequence[Row], gone: str, kept: str) -> None:
    """Undo `move_links`, with decisions that were made on the links since then."""
    back = [{**row, "proposal_id": row["becomes"], "becomes": row["proposal_id"]} for row in moved]
    _move(tx, kept, gone, back)


def _move(tx: Transaction, source: str, target: str, rows: Sequence[Row]) -> list[Row]:
    return tx.run("proposals/move", rows=rows, **{"from": source, "to": target}) if rows else []


# Lists of proposals, and decisions

Pair = tuple[str, str]
MAX_QUOTES = 1000  # quotes of a concept to compare for the best one


def read_proposals_page(
    graph: Graph,
    *,
    ontology: str | None,
    kind: ProposalKind | None,
    state: ProposalState | None,
    offset: int,
    limit: int,
) -> tuple[list[Proposal], int]:
    rows = graph.search("proposals/count", ontologies=resolve_ontology(ontology), kind=kind)
    counts: dict[str, int] = {row["state"]: row["proposals"] for row in rows}
    total = counts.get(state, 0) if state else sum(counts.values())
    parameters = {"ids": None, "ontologies": resolve_ontology(ontology), "kind": kind, "state": state}
    return _read_page(graph, **parameters, offset=offset, limit=limit), total


def find_proposal(graph: Graph, proposal_id: str) -> Proposal:
    """Find a proposal by its id or by a unique prefix of at least eight digits."""
    return _read_one(graph, identify_proposal(graph, proposal_id))


def decide(graph: Graph, proposal_id: str, state: ProposalState, by: str | None) -> Proposal:
    """Accept, reject, or reopen a proposal. Idempotent. A note reports the previous state."""
    whole = identify_proposal(graph, proposal_id)
    own, seen = uuid.uuid4().hex, list[Row]()
    parameters = {"proposal_id": whole, "state": state, "by": by, "type": LINKED, "decision": own}

    def work(tx: Transaction) -> Proposal:
        held = tx.run("proposals/hold", proposal_id=whole, ontologies=get_visible_ontologies())
        if not held or held[0]["ends"] < 2:  # noqa: PLR2004 - both of them
            raise _report_unknown(whole)
        if held[0]["state"] != state and not tx.run("proposals/decide", **parameters):
            raise Conflict(f"the texts of proposal {whole} are just being deleted")
        seen.append(held[0])
        return _read_one(tx, whole)  # read inside the transaction, because nothing may fail after the commit

    decided = graph.transaction(work)
    # A repeated run may find the result of the previous run
    before = next(row for row in reversed(seen) if row["decision"] != own)
    notes = list[str]()
    if before["state"] != "open":
        note = f"the proposal was {before['state']}" + (f" by {before['by']}" if before["by"] else "")
        gone = ". Its link no longer exists" if before["state"] == "accepted" else ""
        same = before["state"] == state
        notes.append(f"{note} already: nothing has changed" if same else f"{note} before{gone}")
    return decided.model_copy(update={"notes": notes})


def find_unconnected_pairs(
    graph: Graph, kind: ProposalKind, pairs: Sequence[Pair], *, hops: int, most_sources: int
) -> set[Pair]:
    """Find the pairs of sources or concepts that no path of at most `hops` steps connects."""
    # A concept with more than `most_sources` sources connects nothing.
    parameters = {"pairs": [list(each) for each in pairs], "hops": hops, "most_sources": most_sources}
    if kind == "source":
        rows = graph.read("proposals/sources_apart", **parameters)
    else:
        rows = graph.read("proposals/concepts_apart", **parameters)
    return {(row["first"], row["second"]) for row in rows}


def read_links(graph: Graph, source_ids: Sequence[str]) -> list[Row]:
    """Read the accepted links between sources: `a`, `b`, `proposal_id`, `similarity`."""
    return graph.read("proposals/links_among", source_ids=list(source_ids))


def _report_unknown(proposal_id: str) -> NotFound:
    return NotFound(
        f"proposal {proposal_id!r} not found. Its texts may have changed or been deleted: `kg "
        "proposals list` shows the existing ones"
    )


def _read_one(graph: Reader, proposal_id: str) -> Proposal:
    parameters = {"ids": [proposal_id], "ontologies": resolve_ontology(None), "kind": None, "state": None}
    found = _read_page(graph, **parameters, offset=0, limit=1)
    if not found:
        raise _report_unknown(proposal_id)
    return found[0]


def _read_page(graph: Reader, **given: Any) -> list[Proposal]:
    found = list[Proposal]()
    for row in graph.search("proposals/page", **given, quotes=MAX_QUOTES):
        complete = drop_deleted_rows(row["ends"], Place)  # a concept may just have lost its last quote
        if len(complete) < 2 or not drop_deleted_rows([row["proposal"]], Proposal):  # noqa: PLR2004 - both
            continue
        ends = [_build_end(each) for each in complete]
        found.append(Proposal.model_validate({**convert_times(row["proposal"]), "ends": ends}))
    return found


def _build_end(row: Row) -> ProposalEnd:
    place = Place.model_validate(row)
    start = row["quote_start"] or 0
    end = len(place.full_text) if row["quote_end"] is None else row["quote_end"]
    return ProposalEnd(
        concept_id=row["concept_id"],
        label=row["label"],
        quote=place.full_text[start:end],
        quote_start=place.start + start,
        quote_end=place.start + end,
        source=place,
    )


# Writing proposals


@dataclass(frozen=True, slots=True)
class LinkEnd:
    id: str
    text_hash: str  # text hash at the time of the search
    start: int | None = None
    """Start of the passage in a source, in code points (None: use the whole text)."""
    end: int | None = None


@dataclass(frozen=True, slots=True)
class NewProposal:
    kind: ProposalKind
    first: LinkEnd
    second: LinkEnd
    score: float
    similarity: float
    reason: str

    def identity(self, ontology: str) -> str:
        """Build an id from text hashes, which survive a new ingestion, or from concept ids."""
        keys = (each.text_hash if self.kind == "source" else each.id for each in (self.first, self.second))
        return build_proposal_id(ontology, self.kind, *keys)


def write_proposals(
    tx: Transaction,
    kind: ProposalKind,
    ontology: str,
    seen: Sequence[DueNode],
    proposals: Sequence[NewProposal],
    *,
    most: int,
) -> None:
    """Write the proposals for some nodes. Earlier proposals are deleted if they are no longer true."""
    hashes = {each.id: each.text_hash for each in seen}
    hashes |= {end.id: end.text_hash for each in proposals for end in (each.first, each.second)}
    ids = sorted(hashes)  # common lock order of nodes
    if kind == "source":
        source_rows = [{"source_id": each, "content_hash": hashes[each]} for each in ids]
        held = {
            (row["source_id"], hashes[row["source_id"]]) for row in tx.run("sources/hold", rows=source_rows)
        }
    else:
        found = tx.run("concepts/hold", ontology=ontology, ids=ids)
        held = {(row["concept_id"], row["text_hash"]) for row in found}
    rows = dict[str, Row]()
    for each in proposals:
        ends = sorted((each.first, each.second), key=lambda end: (end.text_hash, end.id))
        if held.issuperset((end.id, end.text_hash) for end in ends):
            row: Row = {"proposal_id": each.identity(ontology), "kind": each.kind}
            row |= {"score": each.score, "similarity": each.similarity, "reason": each.reason}
            for name, end in zip(("first", "second"), ends, strict=True):
                row |= {name: end.id, f"{name}_start": end.start, f"{name}_end": end.end}
            rows[row["proposal_id"]] = row
    outdated = tx.run("proposals/hold_of", ids=[each.id for each in seen], hold=list(rows))
    _delete_open(tx, outdated)
    if rows:
        written = [row for _, row in sorted(rows.items())]
        tx.run("proposals/write", ontology=ontology, rows=written, type=LINKED)
        drop_weakest(tx, ontology, most)


def drop_weakest(tx: Transaction, ontology: str, most: int) -> None:
    """Keep the `most` best open proposals of an ontology."""
    _delete_open(tx, tx.run("proposals/hold_weakest", ontology=ontology, most=most))


def _delete_open(tx: Transaction, held: Sequence[Row]) -> None:
    """Delete the locked proposals that are still open."""
    if held:
        tx.run("proposals/delete_open", proposal_ids=[row["proposal_id"] for row in held])
