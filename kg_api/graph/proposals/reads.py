"""Proposals as they are listed, and what becomes of them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from kg_api.errors import Conflict, NotFound
from kg_api.graph.database import Graph, Reader, Row, Transaction
from kg_api.graph.naming.nodes import identify_proposal
from kg_api.graph.naming.reach import reach, within
from kg_api.models.proposals.proposals import Proposal, ProposalEnd
from kg_api.models.queries.places import Place
from kg_api.models.vocabulary import LINKED, ProposalKind, ProposalState

Pair = tuple[str, str]
MAX_QUOTES = 1000
"""Of a concept: so many are looked at for the one that proves it best."""


def page_of_proposals(
    graph: Graph,
    *,
    ontology: str | None,
    kind: ProposalKind | None,
    state: ProposalState | None,
    offset: int,
    limit: int,
) -> tuple[list[Proposal], int]:
    """Some proposals, the best first, and how many there are in all."""
    counts = count_proposals(graph, ontology, kind)
    total = counts.get(state, 0) if state else sum(counts.values())
    given = {"ids": None, "ontologies": within(ontology), "kind": kind, "state": state}
    return _read_page(graph, **given, offset=offset, limit=limit), total


def count_proposals(graph: Reader, ontology: str | None, kind: ProposalKind | None = None) -> dict[str, int]:
    """By state, how many there are."""
    rows = graph.read("proposals/count", ontologies=within(ontology), kind=kind)
    return {row["state"]: row["proposals"] for row in rows}


def find_proposal(graph: Graph, proposal_id: str) -> Proposal:
    """One proposal, by its id or at least eight digits that only this id begins with.

    Raises:
        NotFound: there is none by that id, or its texts have gone.
        Conflict: several ids begin so.
    """
    return _read_one(graph, identify_proposal(graph, proposal_id))


def decide(graph: Graph, proposal_id: str, state: ProposalState, by: str | None) -> Proposal:
    """Accept, reject or open a proposal again; doing it twice changes nothing more. A note tells what it was.

    Raises:
        NotFound: there is none by that id, or its texts have gone.
        Conflict: several ids begin so.
    """
    whole = identify_proposal(graph, proposal_id)
    own, seen = uuid.uuid4().hex, list[Row]()

    def work(tx: Transaction) -> Proposal:
        seen.append(_decide(tx, whole, state, by, own))
        return _read_one(tx, whole)  # here, for nothing may fail any more once it is stored

    decided = graph.transaction(work)
    before = next(row for row in reversed(seen) if row["decision"] != own)  # a run may find what the last did
    return decided.model_copy(update={"notes": _notes(before, state)})


def sources_apart(graph: Graph, pairs: Sequence[Pair], *, hops: int, most_sources: int) -> set[Pair]:
    """Of pairs of sources those that nothing connects within so many steps.

    Args:
        graph: where they are.
        pairs: ids.
        hops: steps, at most 3.
        most_sources: a concept of more sources connects nothing.
    """
    rows = graph.read(
        "proposals/sources_apart", pairs=[list(each) for each in pairs], hops=hops, most_sources=most_sources
    )
    return {(row["first"], row["second"]) for row in rows}


def concepts_apart(
    graph: Graph, pairs: Sequence[Pair], *, hops: int, most_sources: int
) -> dict[Pair, tuple[int, int]]:
    """Of pairs of concepts those that nothing connects, and in how many documents each is.

    Args:
        graph: where they are.
        pairs: ids.
        hops: steps, at most 3.
        most_sources: a concept of more sources connects nothing.
    """
    rows = graph.read(
        "proposals/concepts_apart", pairs=[list(each) for each in pairs], hops=hops, most_sources=most_sources
    )
    return {(row["first"], row["second"]): (row["first_documents"], row["second_documents"]) for row in rows}


def links_among(graph: Graph, source_ids: Sequence[str]) -> list[Row]:
    """The accepted links between some sources: `a`, `b`, `proposal_id`, `similarity`."""
    return graph.read("proposals/links_among", source_ids=list(source_ids))


def _decide(tx: Transaction, proposal_id: str, state: ProposalState, by: str | None, decision: str) -> Row:
    """What it was before, who decided that, and by which decision."""
    held = tx.run("proposals/hold", proposal_id=proposal_id, ontologies=reach())
    if not held or held[0]["ends"] < 2:  # noqa: PLR2004 - both of them
        raise _unknown(proposal_id)
    given = {"proposal_id": proposal_id, "state": state, "by": by, "type": LINKED, "decision": decision}
    if held[0]["state"] != state and not tx.run("proposals/decide", **given):
        raise Conflict(f"the texts of proposal {proposal_id} are just being deleted")
    return held[0]


def _notes(before: Row, state: ProposalState) -> list[str]:
    if before["state"] == "open":
        return []
    told = f"it was {before['state']}" + (f" by {before['by']}" if before["by"] else "")
    if before["state"] == state:
        return [f"{told} already: nothing has changed"]
    return [f"{told} before; its link is gone" if before["state"] == "accepted" else f"{told} before"]


def _unknown(proposal_id: str) -> NotFound:
    return NotFound(
        f"there is no proposal {proposal_id!r}: its texts may have changed or gone; "
        "`kg proposals list` shows the existing ones"
    )


def _read_one(graph: Reader, proposal_id: str) -> Proposal:
    given = {"ids": [proposal_id], "ontologies": within(None), "kind": None, "state": None}
    found = _read_page(graph, **given, offset=0, limit=1)
    if not found:
        raise _unknown(proposal_id)
    return found[0]


def _read_page(graph: Reader, **given: Any) -> list[Proposal]:
    rows = graph.read("proposals/page", **given, quotes=MAX_QUOTES)
    return [_proposal(row) for row in rows if _is_whole(row)]


def _is_whole(row: Row) -> bool:
    """Whether both ends are there, each with its text: a concept may just have lost its last quote."""
    return len(row["ends"]) == 2 and all(end["source_id"] for end in row["ends"])  # noqa: PLR2004


def _proposal(row: Row) -> Proposal:
    told: dict[str, Any] = {**row["proposal"], "ends": [_end(each) for each in row["ends"]]}
    times = {name: told[name].to_native() for name in ("created_at", "decided_at") if told[name] is not None}
    return Proposal.model_validate({**told, **times})


def _end(row: Row) -> ProposalEnd:
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
