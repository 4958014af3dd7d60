"""Concepts that became one are parted again: what one had before goes back to it.

A merge is recorded in its own transaction with all that it moves. What came in since is of the one that
stayed; the sources that were read since are read again, so that each gets its own.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kg_api.errors import Conflict, NotFound
from kg_api.graph.concepts.names import Text
from kg_api.graph.concepts.rows import AppearanceRow, QuoteRow
from kg_api.graph.concepts.texts import ask_for_embedding, delete_orphans, hold_concepts, retell, write_texts
from kg_api.graph.database import Graph, Row, Transaction, portions
from kg_api.graph.relations.rows import RelationRow
from kg_api.graph.relations.writes import write_relations
from kg_api.models.concepts.merges import ConceptMerge


@dataclass(frozen=True, slots=True)
class Why:
    """Why two concepts are taken for one."""

    reason: str | None = None
    similarity: float | None = None


NO_REASON = Why()


def record_merge(
    tx: Transaction, ontology: str, pair: tuple[str, str], texts: Mapping[str, Text], why: Why
) -> None:
    """Record that one concept becomes part of another, before it does; both are locked.

    Args:
        tx: that of the merge.
        ontology: of both.
        pair: ids of the one that stays and of the one that goes.
        texts: what is said of both.
        why: they are one.
    """
    kept, gone = pair
    moved = tx.run("concept_merges/moved", kept=kept, gone=gone)[0]
    text = texts[gone]
    said = {"label": text.label, "description": text.description, "terms": list(text.terms)}
    tx.run(
        "concept_merges/record",
        merge_id=uuid.uuid4().hex,
        ontology=ontology,
        pair=_pair(pair),
        kept=kept,
        gone=gone,
        into=texts[kept].label,
        merged=text.label,
        sources=len(moved["appearances"]),
        reason=why.reason,
        similarity=why.similarity,
        moved=json.dumps({**moved, "text": said}, ensure_ascii=False),
    )


def are_parted(tx: Transaction, ontology: str, pair: tuple[str, str]) -> bool:
    """Whether somebody has parted two concepts, or what became part of one from what became part of the other."""
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


def read_concept_merges(
    graph: Graph,
    ontology: str,
    offset: int,
    limit: int,
    *,
    merge_id: str | None = None,
    concept_id: str | None = None,
) -> tuple[list[ConceptMerge], int]:
    """What became one in an ontology, the last first, and how much in all; or one merge, or into one."""
    given = {"merge_id": merge_id, "concept_id": concept_id, "offset": offset, "limit": limit}
    row = graph.read("concept_merges/list", ontology=ontology, **given)[0]
    return [_to_merge(each) for each in row["merges"]], row["total"]


def unmerge_concepts(graph: Graph, ontology: str, merge_id: str, by: str | None) -> ConceptMerge:
    """Part two concepts again, for good; doing it twice changes nothing more.

    Raises:
        NotFound: there is no merge of that id.
        Conflict: a later merge must be undone before: the one that stayed is part of another since, or
            another part of it in the same sources.
    """
    if not read_concept_merges(graph, ontology, 0, 1, merge_id=merge_id)[0]:
        raise NotFound(
            f"{ontology} has no merge of concepts {merge_id!r}; `kg admin concepts merges` lists them"
        )
    graph.transaction(lambda tx: _undo(tx, ontology, merge_id, by))
    return read_concept_merges(graph, ontology, 0, 1, merge_id=merge_id)[0][0]


def _undo(tx: Transaction, ontology: str, merge_id: str, by: str | None) -> None:
    held = tx.run("concept_merges/hold", merge_id=merge_id, ontology=ontology)
    if not held or held[0]["undone"]:
        return
    record = held[0]
    if record["later"]:
        raise Conflict(
            f"what it was merged into was merged again since: undo {record['later']!r} before, "
            "then this one; `kg admin concepts merges` lists them"
        )
    kept = record["kept"]
    locked = tx.run("concepts/merge_hold_sources", ontology=ontology, gone=kept)
    related = {each for row in locked for each in row["related"]}
    known = hold_concepts(tx, ontology, {kept, record["gone"], *related})
    if kept in known:
        _Parting(tx, ontology, record, json.loads(record["moved"])).part(known)
    tx.run("concept_merges/undone", merge_id=merge_id, by=by)


class _Parting:
    """Gives one concept back what it had; all that is touched is locked."""

    def __init__(self, tx: Transaction, ontology: str, record: Row, moved: Mapping[str, Any]) -> None:
        self._tx = tx
        self._ontology = ontology
        self._kept: str = record["kept"]
        self._gone: str = record["gone"]
        self._at: datetime = record["at"]
        self._moved = moved
        self._now = dict[str, AppearanceRow]()
        self._read_since = set[str]()

    def part(self, known: Mapping[str, Text]) -> None:
        """Give all back; a concept that no source carries any more is not made."""
        self._read_now([row["source_id"] for row in self._moved["appearances"]])
        if not self._now:
            ids = [name["name_id"] for name in self._moved["names"]]
            self._tx.run("concept_merges/forget_names", name_ids=ids)
            return
        text = self._moved["text"]
        own = Text(text["label"], text["description"], tuple(text["terms"]))
        write_texts(self._tx, self._ontology, {self._gone: own})
        names = {"rows": self._moved["names"], "concept_id": self._gone, "ontology": self._ontology}
        self._tx.run("concept_merges/give_names", **names)
        self._give_evidence()
        self._give_relations()
        both = {self._kept, self._gone}
        delete_orphans(self._tx, both)
        retell(self._tx, self._ontology, {self._kept}, known)
        self._tx.run("concept_merges/read_again", ids=sorted(both), at=self._at)
        ask_for_embedding(self._tx, self._ontology, both, limited=False)

    def _read_now(self, source_ids: Sequence[str]) -> None:
        for ids in portions(source_ids):
            given = {"source_ids": ids, "concept_id": self._kept, "at": self._at}
            for row in self._tx.run("concept_merges/carried", **given):
                if row.pop("read_since"):
                    self._read_since.add(row["source_id"])
                self._now[row["source_id"]] = _appearance(row)

    def _give_evidence(self) -> None:
        before = {row["source_id"]: _appearance(row) for row in self._moved["shared"]}
        own = [
            each for row in self._moved["appearances"] if (each := _appearance(row)).source_id in self._now
        ]
        self._write_appearances(own)
        self._give_quotes()
        self._write_appearances(
            [
                _without(
                    self._now[each.source_id], each, before[each.source_id], self._moved["text"]["label"]
                )
                for each in own
                if each.source_id in before
            ]
        )
        alone = [each.source_id for each in own if each.source_id not in before]
        for ids in portions(alone):
            self._tx.run("concept_merges/drop_appearances", source_ids=ids, concept_id=self._kept)
        for ids in portions([each.source_id for each in own]):
            self._tx.run("concept_merges/prove", source_ids=ids, ids=[self._kept, self._gone])

    def _give_quotes(self) -> None:
        """What is still there goes over; what counted once is there twice again."""
        there = set[str]()
        for ids in portions([row["instance_id"] for row in self._moved["quotes"]]):
            moved = self._tx.run("concept_merges/give_quotes", ids=ids, kept=self._kept, gone=self._gone)
            there |= {row["instance_id"] for row in moved}
        lost = [row for row in self._moved["quotes"] if row["instance_id"] not in there]
        rows = [row for row in (*lost, *self._moved["shared_quotes"]) if self._is_as_before(row["source_id"])]
        for part in portions([_row(QuoteRow(**row)) for row in rows]):
            self._tx.run("concepts/write_quotes", rows=part, ontology=self._ontology)

    def _give_relations(self) -> None:
        rows = [
            {"relation_id": each, "outgoing": name == "outgoing"}
            for name in ("outgoing", "incoming")
            for each in self._moved[name]
        ]
        for part in portions(rows):
            self._tx.run("concept_merges/give_relations", rows=part, kept=self._kept, gone=self._gone)
        between = [
            RelationRow(**row) for row in self._moved["between"] if self._is_as_before(row["source_id"])
        ]
        write_relations(self._tx, self._ontology, between)

    def _write_appearances(self, rows: Collection[AppearanceRow]) -> None:
        for part in portions([_row(row) for row in rows]):
            self._tx.run("concepts/write_appearances", rows=part)

    def _is_as_before(self, source_id: str) -> bool:
        """Whether a source carries the concept, and was not read since: then it says itself what is there."""
        return source_id in self._now and source_id not in self._read_since


def _without(now: AppearanceRow, gone: AppearanceRow, before: AppearanceRow, label: str) -> AppearanceRow:
    """What a source says of the one that stayed, without what it said of the other, called `label`, only."""
    terms, unverified = {label, *gone.terms} - {*before.terms}, {*gone.unverified} - {*before.unverified}
    return replace(
        now,
        confidence=before.confidence,
        extracted_with=before.extracted_with,
        description=before.description,
        terms=tuple(each for each in now.terms if each not in terms),
        unverified=tuple(each for each in now.unverified if each not in unverified),
    )


def _appearance(row: Row) -> AppearanceRow:
    lists: Row = {name: tuple(row[name]) for name in ("terms", "unverified")}
    return AppearanceRow(**(row | lists))


def _row(row: AppearanceRow | QuoteRow) -> Row:
    return {name: getattr(row, name) for name in row.__slots__}


def _pair(pair: tuple[str, str]) -> str:
    return " ".join(sorted(pair))


def _to_merge(row: Row) -> ConceptMerge:
    times = {name: row[name].to_native() for name in ("at", "undone_at") if row.get(name) is not None}
    return ConceptMerge.model_validate({**row, **times})
