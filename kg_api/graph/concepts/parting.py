"""Concepts that became one are parted again: what one had before goes back to it.

A merge is recorded in its own transaction with all that it moves. What came in since is of the one that
stayed; the sources that were read since are read again, so that each gets its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kg_api.errors import Conflict, NotFound
from kg_api.graph.concepts.names import Text
from kg_api.graph.concepts.rows import AppearanceRow, QuoteRow
from kg_api.graph.concepts.texts import ask_for_embedding, delete_orphans, hold_concepts, retell, write_texts
from kg_api.graph.database import Graph, Row, Transaction, portions
from kg_api.graph.proposals.moving import give_links_back
from kg_api.graph.relations.rows import RelationRow
from kg_api.graph.relations.writes import write_relations
from kg_api.models.concepts.merges import ConceptMerge


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
        Conflict: what it moved is not recorded; or a later merge must be undone before: the one that stayed
            is part of another since, or another part of it in the same sources.
    """
    if not read_concept_merges(graph, ontology, 0, 1, merge_id=merge_id)[0]:
        raise NotFound(
            f"{ontology} has no merge of concepts {merge_id!r}; "
            f"`kg admin concepts merges --ontology {ontology}` lists them"
        )
    graph.transaction(lambda tx: _undo(tx, ontology, merge_id, by))
    return read_concept_merges(graph, ontology, 0, 1, merge_id=merge_id)[0][0]


def _undo(tx: Transaction, ontology: str, merge_id: str, by: str | None) -> None:
    held = tx.run("concept_merges/hold", merge_id=merge_id, ontology=ontology)
    if not held or held[0]["undone"]:
        return
    record = held[0]
    if record["moved"] is None or "appearances" in json.loads(record["moved"]):
        raise Conflict(
            "this merge cannot be undone: what it moved is not recorded, because the concept that went had "
            "very many sources, or an earlier kg recorded it; the two stay one"
        )
    if record["later"]:
        raise Conflict(
            "what it was merged into, or is linked to, was merged again since: "
            f"undo {record['later']!r} before, then this one; `kg admin concepts merges` lists them"
        )
    kept = record["kept"]
    locked = tx.run("concepts/merge_hold_sources", ontology=ontology, gone=kept)
    related = {each for row in locked for each in row["related"]}
    known = hold_concepts(tx, ontology, {kept, record["gone"], *related})
    if kept in known:
        _Parting(tx, ontology, record, _read_moved(tx, merge_id, record)).part(known)
    tx.run("concept_merges/undone", merge_id=merge_id, by=by)


def _read_moved(tx: Transaction, merge_id: str, record: Row) -> Row:
    """What a merge moved of the sources that are still there."""
    gone = record["gone"]
    lists = ("appearances", "shared", "quotes", "shared_quotes", "outgoing", "incoming", "between", "links")
    moved: Row = {name: [] for name in lists} | json.loads(record["moved"])
    for each in tx.run("concept_merges/rows", merge_id=merge_id):
        row = json.loads(each["row"])
        for one in row["appearances"]:
            moved["appearances" if one["concept_id"] == gone else "shared"].append(one)
        for one in row["quotes"]:
            moved["quotes" if one["concept_id"] == gone else "shared_quotes"].append(one)
        for one in row["relations"]:
            if one["between"] is None:
                moved["outgoing" if one["outgoing"] else "incoming"].append(one["relation_id"])
            else:
                moved["between"].append(one["between"])
    return moved


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
            self._tx.run("concept_merges/read_again", ids=[self._kept], at=self._at)
            return
        own = self._text()
        write_texts(self._tx, self._ontology, {self._gone: own})
        names = {"rows": self._moved["names"], "concept_id": self._gone, "ontology": self._ontology}
        self._tx.run("concept_merges/give_names", **names)
        self._give_evidence()
        self._give_relations()
        give_links_back(self._tx, self._moved["links"], self._gone, self._kept)
        both = {self._kept, self._gone}
        delete_orphans(self._tx, both)
        retold = {self._kept} if self._is_told() else both
        retell(self._tx, self._ontology, retold, {**known, self._gone: own})
        self._tx.run("concept_merges/read_again", ids=sorted(both), at=self._at)
        ask_for_embedding(self._tx, self._ontology, both, limited=False)

    def _text(self) -> Text:
        text, rows = self._moved["text"], self._moved["appearances"]
        told = (row["description"] for row in rows if row["source_id"] == text["described_by"])
        return Text(text["label"], next(told, ""), tuple(text["terms"]))

    def _is_told(self) -> bool:
        """Whether all that carried it still do, so that what was said of it is what they say."""
        return self._moved["text"]["described_by"] in self._now

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


def _to_merge(row: Row) -> ConceptMerge:
    times = {name: row[name].to_native() for name in ("at", "undone_at") if row.get(name) is not None}
    return ConceptMerge.model_validate({**row, **times})
