"""Two concepts become one, in one transaction: what one of them has goes over to the other.

Locks are taken in the order of all writers: sources, then concepts, each by id. Whoever has read meanwhile
that a name means the concept that goes finds it gone when it locks it, and looks the name up again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kg_api.graph.concepts.names import TERMS, NamedConcept, Text
from kg_api.graph.concepts.rows import IMPORTED, UNVERIFIED
from kg_api.graph.concepts.texts import text_of, write_texts
from kg_api.graph.database import Graph, Row, Transaction, portions
from kg_api.graph.proposals.moving import move_links

RECORDED: Final = 500
"""Sources of which what they say is recorded by one statement."""
MAX_RECORDED: Final = 5000
"""Sources of a concept that goes: a merge of more cannot be undone, for it and the record of it may
take more than the memory of one transaction (of 346 MiB 8,000 took less, 20,000 more)."""

Still = Callable[[Text, Text], bool]
"""Whether two concepts are one, by what is said of them now."""


@dataclass(frozen=True, slots=True)
class Why:
    """Why two concepts are taken for one."""

    reason: str | None = None
    similarity: float | None = None


NO_REASON = Why()


def merge_concepts(graph: Graph, pair: tuple[str, str], still: Still, why: Why = NO_REASON) -> str | None:
    """Make one concept of two, unless one of them has gone, they are two by now, or somebody has parted them.

    The one that more sources carry stays, else the older one, else the smaller id. It gets the other's
    evidence, relationships and names. A quote that both had counts once. Doing it twice changes nothing. It
    is recorded, so that it can be undone.

    Args:
        graph: where they are.
        pair: the ids of two concepts of one ontology.
        still: asked when both are locked.
        why: for the record.

    Returns:
        The id of the one that stays, whose text is another now; None when nothing was merged.

    Raises:
        DatabaseUnavailable: Neo4j does not answer.
    """
    return graph.transaction(lambda tx: _merge(tx, pair, still, why))


def doubles(quotes: Iterable[Row], kept: str) -> list[str]:
    """Which quotes stand twice: of two on one place, what was imported stays, else the better one."""
    best = dict[tuple[Any, ...], Row]()
    gone = list[str]()
    for quote in sorted(quotes, key=lambda each: _worth(each, kept), reverse=True):
        place = (quote["source_id"], quote["start"], quote["end"])
        if best.setdefault(place, quote) is not quote:
            gone.append(quote["instance_id"])
    return gone


def _worth(quote: Row, kept: str) -> tuple[Any, ...]:
    imported = quote["extracted_with"].startswith(IMPORTED)
    return imported, quote["score"], quote["concept_id"] == kept, quote["instance_id"]


def _merge(tx: Transaction, pair: tuple[str, str], still: Still, why: Why) -> str | None:
    known = _rank(tx, pair)
    if len(known) < len(pair) or known[0]["ontology"] != known[1]["ontology"]:
        return None
    ontology = known[0]["ontology"]
    texts = _hold(tx, ontology, pair, known[1]["concept_id"])
    ranks = _rank(tx, pair)  # they may have changed before the lock
    if len(ranks) < len(pair):
        return None
    kept, gone = (row["concept_id"] for row in ranks)
    if not still(texts[kept], texts[gone]) or _are_parted(tx, ontology, pair):
        return None
    _record(tx, ontology, (kept, gone), texts, why)
    _move(tx, kept, gone)
    _call(tx, kept, ontology, texts[kept], texts[gone])
    return kept


def _rank(tx: Transaction, pair: tuple[str, str]) -> list[Row]:
    return tx.run("concepts/merge_ranks", ids=sorted({*pair}))


def _hold(tx: Transaction, ontology: str, pair: tuple[str, str], gone: str) -> dict[str, Text]:
    """Lock what merging touches: the sources of the one that will go, both, and what it is related to."""
    held = tx.run("concepts/merge_hold_sources", ontology=ontology, gone=gone)
    related = [each for row in held for each in row["related"]]
    rows = tx.run("concepts/hold", ontology=ontology, ids=sorted({*pair, *related}))
    return {row["concept_id"]: text_of(row) for row in rows}


def _record(
    tx: Transaction, ontology: str, pair: tuple[str, str], texts: Mapping[str, Text], why: Why
) -> None:
    """Record that the second of two locked concepts becomes part of the first, before it does; its links go.

    Texts of sources are recorded at these only, so that they go with them.
    """
    kept, gone = pair
    merge_id = uuid.uuid4().hex
    carried = tx.run("concept_merges/carriers", concept_id=gone)[0]
    links = move_links(tx, ontology, gone, kept)
    undoable = len(carried["source_ids"]) <= MAX_RECORDED
    rows = _moved(tx, pair, carried["source_ids"]) if undoable else {}
    text = texts[gone]
    said = {"label": text.label, "terms": list(text.terms), "described_by": _described_by(rows, gone, text)}
    tx.run(
        "concept_merges/record",
        merge_id=merge_id,
        ontology=ontology,
        pair=_pair(pair),
        kept=kept,
        gone=gone,
        into=texts[kept].label,
        merged=text.label,
        sources=len(carried["source_ids"]),
        reason=why.reason,
        similarity=why.similarity,
        moved=_json({"names": carried["names"], "text": said, "links": links}) if undoable else None,
        linked=[link["other"] for link in links],
    )
    for part in portions([{"source_id": id_, "row": _json(row)} for id_, row in rows.items()], RECORDED):
        tx.run("concept_merges/record_rows", merge_id=merge_id, rows=part)


def _moved(tx: Transaction, pair: tuple[str, str], source_ids: Sequence[str]) -> dict[str, Row]:
    """By source what both have there, and what is stated there of the one that goes."""
    kept, gone = pair
    rows = dict[str, Row]()
    for ids in portions(source_ids, RECORDED):
        for row in tx.run("concept_merges/moved", source_ids=ids, ids=[*pair]):
            rows[row["source_id"]] = {**row, "relations": []}
    for row in tx.run("concept_merges/moved_relations", kept=kept, gone=gone):
        empty: Row = {"appearances": [], "quotes": [], "relations": []}
        rows.setdefault(row.pop("source_id"), empty)["relations"].append(row)
    return rows


def _described_by(rows: Mapping[str, Row], gone: str, text: Text) -> str | None:
    """The source that gave a concept its description."""
    for source_id, row in rows.items():
        for each in row["appearances"]:
            if each["concept_id"] == gone and each["description"] == text.description:
                return source_id
    return None


def _json(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False)


def _pair(pair: tuple[str, str]) -> str:
    return " ".join(sorted(pair))


def _are_parted(tx: Transaction, ontology: str, pair: tuple[str, str]) -> bool:
    """Whether somebody has parted two concepts, or any that became part of them."""
    parted = [row["pair"].split() for row in tx.run("concept_merges/parted", ontology=ontology)]
    if not parted:
        return False
    one, other = (_made_of(tx, ontology, each) for each in pair)
    return any((a in one and b in other) or (b in one and a in other) for a, b in parted)


def _made_of(tx: Transaction, ontology: str, concept_id: str) -> set[str]:
    found = new = {concept_id}
    while new:
        rows = tx.run("concept_merges/made_of", ontology=ontology, ids=sorted(new))
        new = {row["gone"] for row in rows} - found
        found = found | new
    return found


def _move(tx: Transaction, kept: str, gone: str) -> None:
    tx.run(
        "concepts/merge_appearances",
        kept=kept,
        gone=gone,
        imported=IMPORTED,
        most_terms=TERMS,
        most_unverified=UNVERIFIED,
    )
    quotes = tx.run("concepts/merge_quotes", ids=[kept, gone])
    tx.run("concepts/forget_quotes", ids=doubles(quotes, kept))
    tx.run("concepts/merge_move_quotes", kept=kept, gone=gone)
    tx.run("concepts/merge_relations", kept=kept, gone=gone)
    tx.run("concepts/merge_names", kept=kept, gone=gone)


def _call(tx: Transaction, kept: str, ontology: str, own: Text, other: Text) -> None:
    """Add the other's names and description."""
    text = own.with_more(NamedConcept(other.label, other.description, other.terms))
    write_texts(tx, ontology, {kept: text})
