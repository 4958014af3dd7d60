"""Relationships between concepts, their types, and how to merge types."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import Conflict, NotFound
from kg_api.graph.client import Graph, Row, Transaction, split_into_portions
from kg_api.graph.jobs import EDGE_EMBEDDING, request_job
from kg_api.graph.names import require_ontologies
from kg_api.graph.rows import convert_times
from kg_api.graph.spaces import Space, read_configuration
from kg_api.schemas.base import build_relation_type_id, compute_digest, hash_type_text, normalize_concept_name
from kg_api.schemas.concepts import RelationshipType, TypeMerge, TypeMerges, TypeMerging, choose_stance
from kg_api.schemas.vocabulary import Stance
from kg_api.suggestions import UNNAMED, NamedPair
from kg_api.wording import are, pluralize

MAX_QUOTE: Final = 500
"""Maximum code points between the first and last word of both concepts. Beyond it, kg quotes only one of
them."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RelationRow:
    relation_id: str
    source_id: str
    subject: str
    object: str
    type: str  # type in the source's words, before any vocabulary applies
    confidence: float
    extracted_with: str
    statement: str = ""
    """Subject, type, and object, using words from the source. It is embedded together with the quote."""
    quote: str = ""  # text between both concepts (empty: no quote as evidence)
    start: int | None = None  # in code points of the source's text, like `end`
    end: int | None = None

    @property
    def key(self) -> tuple[str, ...]:
        return (self.relation_id,)

    def parameters(self, ontology: str) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.__slots__}
        return own | {
            "ontology": ontology,
            "type_id": build_relation_type_id(ontology, self.type),
            "type_key": normalize_concept_name(self.type),
            "text_hash": compute_digest("edge text", build_edge_text(self.statement, self.quote)),
        }


def state(subject: str, kind: str, target: str) -> str:
    """Write a relationship as a sentence. Underscores can be used in types."""
    return f"{subject} {kind.replace('_', ' ')} {target}"


def build_edge_text(statement: str, quote: str) -> str:
    """Build the text to embed for a relationship: its statement and its quote."""
    return f"{statement}: {quote}" if quote else statement


def find_text_between(
    text: str, subject: Sequence[Span], target: Sequence[Span], named: NamedPair = UNNAMED
) -> tuple[str, int | None, int | None]:
    """Find the shortest text that has both concepts, with its position."""
    alone = [*subject, *target]
    both = [each for each in alone if named.is_within(*each)]
    pairs = [
        *both,
        *((min(one[0], other[0]), max(one[1], other[1])) for one, other in product(subject, target)),
    ]
    near = [each for each in pairs if each[1] - each[0] <= MAX_QUOTE]
    chosen = min(near, key=lambda each: (each[1] - each[0], each), default=None) or next(iter(alone), None)
    return ("", None, None) if chosen is None else (text[chosen[0] : chosen[1]], *chosen)


# Types of relationships

PORTION: Final = 2000
SCANNED: Final = 1000
EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class StoredType:
    type_id: str
    ids: list[str]  # its own id and the ids of merged types
    described: RelationshipType

    @property
    def name(self) -> str:
        return self.described.name

    @property
    def stance(self) -> Stance:
        return self.described.stance


@dataclass(frozen=True, slots=True)
class TypeExamples:
    statements: list[str]
    pairs: frozenset[str]


def read_types(graph: Graph, ontology: str, space: Space) -> list[StoredType]:
    """Read the types of an ontology that are not merged into another, most frequent first."""
    rows = graph.read("relations/types", ontology=ontology, property=space.at("").vector_property)
    groups: dict[str, list[Row]] = {row["type_id"]: [] for row in rows if row["type_id"] == row["into"]}
    for row in rows:
        if row["into"] in groups:
            groups[row["into"]].append(row)
    types = list[StoredType]()
    for type_id, members in groups.items():
        own = next(row for row in members if row["type_id"] == type_id)
        described = RelationshipType(
            name=own["name"],
            relations=sum(row["relations"] for row in members),
            also=sorted(row["name"] for row in members if row is not own),
            stance=choose_stance(own["name"], own["stance"]),
            embedded=own["embedded"],
        )
        types.append(StoredType(type_id, [row["type_id"] for row in members], described))
    return sorted(types, key=lambda each: (-each.described.relations, each.name))


def read_type_vectors(graph: Graph, space: Space, type_ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    rows = graph.read("relations/type_vectors", ids=list(type_ids), property=space.at("").vector_property)
    return {row["type_id"]: np.asarray(row["vector"], dtype=np.float32) for row in rows}


def read_examples(graph: Graph, types: Sequence[StoredType]) -> dict[str, TypeExamples]:
    keys = [{"type_id": each.type_id, "ids": each.ids} for each in types]
    found = dict[str, TypeExamples]()
    for part in split_into_portions(keys):
        for row in graph.read("relations/type_examples", types=part, scanned=SCANNED, examples=EXAMPLES):
            found[row["type_id"]] = TypeExamples(row["examples"], frozenset(row["pairs"]))
    return found


def merge_types(graph: Graph, ontology: str, asked: TypeMerging) -> TypeMerge:
    """Merge types into another. Stored statements keep their type, but you read the target type."""
    # A repeated call resumes an interrupted merge and returns the original record.
    require_ontologies(graph, ontology)
    merge = graph.transaction(lambda tx: _merge(tx, ontology, asked))
    if merge.merge_id is not None:
        finish_renaming(graph, merge.merge_id)
    return merge


def unmerge_types(graph: Graph, ontology: str, merge_id: str, by: str | None) -> TypeMerge:
    """Undo a merge of types. Idempotent."""
    require_ontologies(graph, ontology)
    if not _read_merges(graph, ontology, 0, 1, merge_id).merges:
        raise NotFound(
            f"merge of relationship types {merge_id!r} not found in {ontology}. `kg admin "
            f"relationship-types merges --ontology {shlex.quote(ontology)}` lists the merges"
        )
    parameters = {"merge_id": merge_id, "ontology": ontology, "by": by}
    graph.transaction(lambda tx: tx.run("relations/unmerge_types", **parameters))
    finish_renaming(graph, merge_id)
    return _read_merges(graph, ontology, 0, 1, merge_id).merges[0]


def finish_renaming(
    graph: Graph, merge_id: str | None = None, checkpoint: Callable[[], None] = lambda: None
) -> int:
    """Rename the relationships for one unfinished merge, or for all. Count them."""
    begun = graph.read("relations/being_renamed", merge_id=merge_id)
    for row in begun:
        type_ids = [build_relation_type_id(row["ontology"], each) for each in row["merged"]]
        while graph.transaction(
            lambda tx, ids=type_ids: tx.run("relations/rename", type_ids=ids, limit=PORTION)[0]["renamed"]
        ):
            checkpoint()
        graph.write("relations/renamed", merge_id=row["merge_id"], renaming=row["renaming"])
    return len(begun)


def list_type_merges(graph: Graph, ontology: str, offset: int, limit: int) -> TypeMerges:
    """List merges of types, newest first."""
    require_ontologies(graph, ontology)
    return _read_merges(graph, ontology, offset, limit)


def _read_merges(
    graph: Graph, ontology: str, offset: int, limit: int, merge_id: str | None = None
) -> TypeMerges:
    row = graph.read("relations/merges", ontology=ontology, merge_id=merge_id, offset=offset, limit=limit)[0]
    merges = [TypeMerge.model_validate(convert_times(each)) for each in row["merges"]]
    return TypeMerges(ontology=ontology, merges=merges, total=row["total"], offset=offset, limit=limit)


def report_unknown_type(ontology: str, names: Sequence[str]) -> NotFound:
    quoted_names = ", ".join(map(repr, names))
    return NotFound(
        f"relationship type {quoted_names} not found in {ontology}. `kg admin relationship-types list "
        f"--ontology {shlex.quote(ontology)}` shows the existing ones"
    )


def _merge(tx: Transaction, ontology: str, asked: TypeMerging) -> TypeMerge:
    ids = {build_relation_type_id(ontology, name): name for name in (asked.into, *asked.merged)}
    into = build_relation_type_id(ontology, asked.into)
    merged = sorted({build_relation_type_id(ontology, each) for each in asked.merged})
    held = {row["type_id"]: row for row in tx.run("relations/hold_types", ids=sorted(ids))}
    if missing := [name for each, name in ids.items() if each not in held]:
        raise report_unknown_type(ontology, missing)
    before = {(held[each]["into_id"], held[each]["merge_id"]) for each in merged}
    into_id, merge_id = next(iter(before))
    if not asked.dry_run and len(before) == 1 and into_id == into:
        # A merge of exactly these types exists. Its response was lost, or it was interrupted
        parameters = {"ontology": ontology, "merge_id": merge_id, "offset": 0, "limit": 1}
        (record,) = tx.run("relations/merges", **parameters)[0]["merges"]
        if {build_relation_type_id(ontology, each) for each in record["merged"]} == {*merged}:
            return TypeMerge.model_validate(convert_times(record))
    if into in merged:
        raise Conflict(
            f"{held[into]['name']!r} cannot become part of itself: case and punctuation do not count"
        )
    for row in held.values():
        if row["into"] is not None:
            raise Conflict(
                f"{row['name']!r} is part of {row['into']!r} already: undo that first, or use that one"
            )
    relations = sum(held[each]["relations"] for each in merged)
    if asked.dry_run:
        names = sorted(held[each]["name"] for each in merged)
        values = {"merge_id": None, "ontology": ontology, "into": held[into]["name"], "merged": names}
        dry = {**values, "relations": relations, "by": asked.by, "at": None}
        return TypeMerge.model_validate({**dry, **_count_stances(held, into, merged)})
    parameters = {
        "into": into,
        "merged": merged,
        "ontology": ontology,
        "relations": relations,
        "by": asked.by,
    }
    row = tx.run("relations/merge_types", merge_id=uuid.uuid4().hex, **parameters)[0]["merge"]
    return TypeMerge.model_validate({**convert_times(row), **_count_stances(held, into, merged)})


def _count_stances(held: Mapping[str, Row], into: str, merged: Sequence[str]) -> dict[str, Any]:
    """Count the relationships whose stance changes with the merge. Add a note about them."""
    stances = {each: choose_stance(row["name"], row["stance"]) for each, row in held.items()}
    others = [each for each in merged if stances[each] != stances[into] and held[each]["relations"]]
    if not others:
        return {}
    count = sum(held[each]["relations"] for each in others)
    listed = ", ".join(sorted(f"{held[each]['name']!r} ({stances[each]})" for each in others))
    note = (
        f"{pluralize(count, 'relationship')} of {listed} then {are(count)} {stances[into]}, as "
        f"{held[into]['name']!r} is, so the grounding of their concepts changes. `kg admin "
        "relationship-types stance` sets the stance of a type"
    )
    return {"stance_changes": count, "notes": [note]}


# Writing relationships and their types


def write_relations(tx: Transaction, ontology: str, relations: Sequence[RelationRow]) -> None:
    """Write relationships for sources, and request to embed them."""
    write_portion(tx, ontology, relations)
    # Only new relationships, unless embedding waits for a request
    fresh = len(relations)
    if fresh:
        configured = read_configuration(tx, ontology)
        if configured.embed_on_ingest and not configured.paused:
            request_job(tx, EDGE_EMBEDDING, ontology, added=fresh)


def write_portion(tx: Transaction, ontology: str, relations: Sequence[RelationRow]) -> None:
    """Write relationships for sources, and new types."""
    # Types are locked after concepts, by id. So a merge of types sees all their relationships.
    rows = [row.parameters(ontology) for row in relations]
    types = {
        row["type_id"]: {
            "type_id": row["type_id"],
            "name": row["type"],
            "key": row["type_key"],
            "text_hash": hash_type_text(row["type"]),
        }
        for row in reversed(rows)  # the first relationship determines the name
    }
    for part in split_into_portions([each for _, each in sorted(types.items())]):
        tx.run("relations/write_types", rows=part, ontology=ontology)
    for part in split_into_portions(rows):
        tx.run("concepts/write_relations", rows=part)
