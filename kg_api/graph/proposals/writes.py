"""Links that are proposed, on their way in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

from kg_api.graph.database import Row, Transaction
from kg_api.graph.proposals.due import DueNode
from kg_api.models.identity import proposal_id
from kg_api.models.vocabulary import LINKED, ProposalKind


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One of the two that may be linked."""

    id: str
    text_hash: str
    """What it said when it was looked at."""
    start: int | None = None
    """Of a source the place of the passage in its text, in code points; none: all of it."""
    end: int | None = None


@dataclass(frozen=True, slots=True)
class NewProposal:
    """A link that is proposed."""

    kind: ProposalKind
    first: LinkEnd
    second: LinkEnd
    score: float
    similarity: float
    reason: str

    def identity(self, ontology: str) -> str:
        """By the texts of sources, so that it is the same when they come again; by the ids of concepts."""
        keys = (each.text_hash if self.kind == "source" else each.id for each in (self.first, self.second))
        return proposal_id(ontology, self.kind, *keys)


def write_proposals(
    tx: Transaction,
    kind: ProposalKind,
    ontology: str,
    seen: Sequence[DueNode],
    proposals: Sequence[NewProposal],
    *,
    most: int,
) -> None:
    """Write what is proposed of some nodes; what was proposed of them before and holds no more goes.

    Args:
        tx: the transaction.
        kind: of the nodes.
        ontology: which they are in.
        seen: the nodes that were looked at.
        proposals: of them; one whose end has changed or gone meanwhile is left out.
        most: so many open proposals of the ontology are kept, the best.
    """
    held = _hold(tx, kind, ontology, seen, proposals)
    still = [each for each in proposals if _is_held(each.first, held) and _is_held(each.second, held)]
    rows = {each.identity(ontology): each for each in still}
    ids = [each.id for each in seen]
    _delete_open(tx, tx.run("proposals/hold_of", ids=ids, hold=list(rows)))
    if rows:
        written = [_row(*each) for each in sorted(rows.items())]
        tx.run("proposals/write", ontology=ontology, rows=written, type=LINKED)
        drop_weakest(tx, ontology, most)


def drop_weakest(tx: Transaction, ontology: str, most: int) -> None:
    """Keep the best open proposals of an ontology, so many; how many were dropped is noted."""
    if dropped := _delete_open(tx, tx.run("proposals/hold_weakest", ontology=ontology, most=most)):
        tx.run("proposals/note_dropped", ontology=ontology, dropped=dropped)


def _delete_open(tx: Transaction, held: Sequence[Row]) -> int:
    """Delete proposals that are locked and still open; what was decided on by then stays. How many."""
    ids = [row["proposal_id"] for row in held]
    return tx.run("proposals/delete_open", proposal_ids=ids)[0]["deleted"] if ids else 0


def _row(identity: str, proposal: NewProposal) -> dict[str, object]:
    first, second = sorted((proposal.first, proposal.second), key=lambda end: (end.text_hash, end.id))
    return {
        **{name: value for name, value in asdict(proposal).items() if name not in {"first", "second"}},
        "proposal_id": identity,
        **{f"first{name}": value for name, value in _end(first).items()},
        **{f"second{name}": value for name, value in _end(second).items()},
    }


def _end(end: LinkEnd) -> dict[str, object]:
    return {"": end.id, "_start": end.start, "_end": end.end}


def _hold(
    tx: Transaction,
    kind: ProposalKind,
    ontology: str,
    seen: Sequence[DueNode],
    proposals: Sequence[NewProposal],
) -> Collection[tuple[str, str]]:
    """Lock nodes in the order of their ids; which still say what they said."""
    hashes = {each.id: each.text_hash for each in seen}
    hashes |= {end.id: end.text_hash for each in proposals for end in (each.first, each.second)}
    ids = sorted(hashes)
    if kind == "source":
        rows = [{"source_id": each, "content_hash": hashes[each]} for each in ids]
        return {(row["source_id"], hashes[row["source_id"]]) for row in tx.run("sources/hold", rows=rows)}
    found = tx.run("concepts/hold", ontology=ontology, ids=ids)
    return {(row["concept_id"], row["text_hash"]) for row in found}


def _is_held(end: LinkEnd, held: Collection[tuple[str, str]]) -> bool:
    return (end.id, end.text_hash) in held
