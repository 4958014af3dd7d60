"""The evidence of locked sources: read, and written as `rows` tells it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby

from kg_api.graph.concepts.rows import AppearanceRow, Difference, EvidenceRows, QuoteRow
from kg_api.graph.database import Row, Transaction, portions
from kg_api.graph.relations.rows import RelationRow
from kg_api.graph.relations.writes import write_relations


def present_evidence(tx: Transaction, source_ids: Collection[str], proven: Collection[str]) -> EvidenceRows:
    """The evidence that some sources give, as it is stored.

    Args:
        tx: in which they are locked.
        source_ids: which.
        proven: those of them that carry a concept or are quoted for one; of the others neither is looked for.
    """
    ids = sorted(proven)
    appearances = tx.run("concepts/present_appearances", source_ids=ids) if ids else []
    for row in appearances:
        row["terms"], row["unverified"] = tuple(row["terms"]), tuple(row["unverified"])
    quotes = tx.run("concepts/present_quotes", source_ids=ids) if ids else []
    relations = tx.run("concepts/present_relations", source_ids=sorted(source_ids))
    return EvidenceRows(
        [AppearanceRow(**row) for row in appearances],
        [QuoteRow(**row) for row in quotes],
        [RelationRow(**row) for row in relations],
    )


def write_evidence(tx: Transaction, ontology: str, found: Difference, *, new: Collection[str]) -> None:
    """Write what is to be written, after what is to go.

    Args:
        tx: in which sources and concepts are locked.
        ontology: of them.
        found: what to write, and what to delete.
        new: sources that give no evidence yet: theirs is made, not looked for.
    """
    for part in portions([row.relation_id for row in found.gone.relations]):
        tx.run("concepts/forget_relations", ids=part)
    for part in portions([row.instance_id for row in found.gone.quotes]):
        tx.run("concepts/forget_quotes", ids=part)
    for part in portions(_rows(found.gone.appearances)):
        tx.run("concepts/forget_appearances", rows=part)
    for part in portions(_first_rows(found.write, new)):
        tx.run("concepts/write_first", rows=part, ontology=ontology)
    for part in portions(_rows(row for row in found.write.appearances if row.source_id not in new)):
        tx.run("concepts/write_appearances", rows=part)
    for part in portions(_rows(row for row in found.write.quotes if row.source_id not in new)):
        tx.run("concepts/write_quotes", rows=part, ontology=ontology)
    write_relations(tx, ontology, found.write.relations)


def _first_rows(write: EvidenceRows, new: Collection[str]) -> list[Row]:
    """A row for each source that gives no evidence yet: its concepts, each with its quotes."""
    quotes = dict[tuple[str, str], list[Row]]()
    for quote in write.quotes:
        quotes.setdefault((quote.source_id, quote.concept_id), []).append(_row(quote))
    first = (row for row in write.appearances if row.source_id in new)
    return [
        {
            "source_id": source_id,
            "concepts": [_row(row) | {"quotes": quotes.get((source_id, row.concept_id), [])} for row in rows],
        }
        for source_id, rows in groupby(first, key=lambda row: row.source_id)
    ]


def _rows(rows: Iterable[AppearanceRow | QuoteRow]) -> list[Row]:
    return [_row(row) for row in rows]


def _row(row: AppearanceRow | QuoteRow) -> Row:
    """As `dataclasses.asdict` does it, without copying what is in it, which takes ten times as long."""
    return {name: getattr(row, name) for name in row.__slots__}
