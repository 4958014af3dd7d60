"""Relationships that an earlier version wrote get their ontology, type and text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from types import MappingProxyType
from typing import Final, LiteralString

from kg_api.graph.database import Row, Transaction
from kg_api.graph.relations.rows import RelationRow, between, state
from kg_api.graph.relations.writes import write_portion
from kg_api.wording.folding import fold
from kg_api.wording.named import NamePlaces


@dataclass(frozen=True, slots=True)
class _Quoted:
    start: int
    end: int


def _fill(name: LiteralString, tx: Transaction, after: str) -> str | None:
    found = tx.run(name, after=after)
    stated = [row for row in found if row["full_text"] is not None]
    by_ontology = sorted(stated, key=lambda row: row["ontology"])
    for ontology, rows in groupby(by_ontology, key=lambda row: row["ontology"]):
        write_portion(tx, ontology, [_to_row(row) for row in rows])
    return found[-1]["relation_id"] if found else None


def _to_row(row: Row) -> RelationRow:
    subject, target = ([_Quoted(*each) for each in row[name]] for name in ("subject_quotes", "object_quotes"))
    names = (row["subject_label"], row["object_label"])
    named = NamePlaces(partial(fold, row["full_text"])).pair(*names)
    quote, start, end = between(row["full_text"], subject, target, named)
    stored = ("relation_id", "source_id", "subject", "object", "type", "confidence", "extracted_with")
    own = {name: row[name] for name in stored}
    statement = state(names[0], row["type"], names[1])
    return RelationRow(**own, statement=statement, quote=quote, start=start, end=end)


RELATIONS: Final[Mapping[str, Callable[[Transaction, str], str | None]]] = MappingProxyType(
    {
        "schema/104_relation_texts": partial(_fill, "schema/104_relation_texts"),
        "schema/107_relation_texts_left": partial(_fill, "schema/107_relation_texts_left"),
    }
)
"""The migrations that this module computes: each takes the next portion and gives the id that it came to."""
