"""Merging two concepts in one transaction, and undoing merges.

Locks follow the order of all writers: sources, then concepts, each by id. A writer that read a name of the
removed concept fails to lock the concept, and looks up the name again.
"""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kg_api.errors import Conflict, NotFound
from kg_api.graph import concepts
from kg_api.graph.client import Graph, Row, Transaction, split_into_portions
from kg_api.graph.concept_vectors import (
    delete_orphans,
    hold_concepts,
    rebuild_texts,
    request_embedding,
    write_texts,
)
from kg_api.graph.concepts import find_concept
from kg_api.graph.names import require_ontologies
from kg_api.graph.proposals import give_links_back, move_links
from kg_api.graph.relations import RelationRow, write_relations
from kg_api.graph.rows import convert_times
from kg_api.schemas.concepts import ConceptMerge, ConceptMerges

RECORDED: Final = 500
MAX_RECORDED: Final = 5000
"""Maximum number of sources of a merged concept for an undoable merge. With more, the merge and its record
may exceed the memory of one transaction (of 346 MiB, 8,000 used less and 20,000 more)."""

Still = Callable[[concepts.Text, concepts.Text], bool]
"""Returns whether two concepts are still the same, by their current texts."""


def merge_concepts(
    graph: Graph,
    pair: tuple[str, str],
    still: Still,
    reason: str | None = None,
    similarity: float | None = None,
) -> str | None:
    """Merge two concepts, unless one was deleted, they now differ, or a user has separated them."""
    # The concept with more sources remains, then the older one, then the smaller id. It gets the other's
    # evidence, relationships, and names. Quotes that both have count once. The merge is idempotent and
    # recorded for undoing.
    return graph.transaction(lambda tx: _merge(tx, pair, still, {"reason": reason, "similarity": similarity}))


def find_duplicate_quotes(quotes: Iterable[Row], kept: str) -> list[str]:
    """Return the duplicate quotes. At each position, the best one stays."""

    def rank_quote(quote: Row) -> tuple[Any, ...]:
        return quote["score"], quote["concept_id"] == kept, quote["instance_id"]

    best = dict[tuple[Any, ...], Row]()
    for quote in sorted(quotes, key=rank_quote, reverse=True):
        best.setdefault((quote["source_id"], quote["start"], quote["end"]), quote)
    stay = {quote["instance_id"] for quote in best.values()}
    return [quote["instance_id"] for quote in quotes if quote["instance_id"] not in stay]


def _merge(tx: Transaction, pair: tuple[str, str], still: Still, why: Row) -> str | None:
    ids = sorted({*pair})
    known = tx.run("concepts/merge_ranks", ids=ids)
    if len(known) < len(pair) or known[0]["ontology"] != known[1]["ontology"]:
        return None
    ontology = known[0]["ontology"]
    # Locks: the sources of the concept to remove, both concepts, and its related concepts
    held = tx.run("concepts/merge_hold_sources", ontology=ontology, gone=known[1]["concept_id"])
    texts = hold_concepts(tx, ontology, {*pair, *(each for row in held for each in row["related"])})
    ranks = tx.run("concepts/merge_ranks", ids=ids)  # the order may have changed before the lock
    if len(ranks) < len(pair):
        return None
    kept, gone = (row["concept_id"] for row in ranks)
    if not still(texts[kept], texts[gone]) or _are_parted(tx, ontology, pair):
        return None
    _record(tx, ontology, (kept, gone), texts, why)
    tx.run(
        "concepts/merge_appearances",
        kept=kept,
        gone=gone,
        most_terms=concepts.TERMS,
        most_unverified=concepts.UNVERIFIED,
    )
    quotes = tx.run("concepts/merge_quotes", ids=[kept, gone])
    tx.run("concepts/forget_quotes", ids=find_duplicate_quotes(quotes, kept))
    tx.run("concepts/merge_move_quotes", kept=kept, gone=gone)
    tx.run("concepts/merge_relations", kept=kept, gone=gone)
    tx.run("concepts/merge_names", kept=kept, gone=gone)
    write_texts(tx, ontology, {kept: texts[kept].merge_text(texts[gone])})
    return kept


def _record(
    tx: Transaction, ontology: str, pair: tuple[str, str], texts: Mapping[str, concepts.Text], why: Row
) -> None:
    """Record a merge of locked concepts before it happens, and move the links."""
    # Texts from sources are stored only at those sources, so they are deleted with them.
    kept, gone = pair
    merge_id = uuid.uuid4().hex
    (carried,) = tx.run("concept_merges/carriers", concept_id=gone)
    source_ids: list[str] = carried["source_ids"]
    links = move_links(tx, ontology, gone, kept)
    undoable = len(source_ids) <= MAX_RECORDED
    rows = dict[str, Row]()  # by source: evidence of both concepts, and relationships of the removed one
    for ids in split_into_portions(source_ids if undoable else [], RECORDED):
        for row in tx.run("concept_merges/moved", source_ids=ids, ids=[*pair]):
            rows[row["source_id"]] = {**row, "relations": []}
    for row in tx.run("concept_merges/moved_relations", kept=kept, gone=gone) if undoable else ():
        empty: Row = {"appearances": [], "quotes": [], "relations": []}
        rows.setdefault(row.pop("source_id"), empty)["relations"].append(row)
    text = texts[gone]
    described = (
        source_id
        for source_id, row in rows.items()
        for each in row["appearances"]
        if each["concept_id"] == gone and each["description"] == text.description
    )
    record = {"label": text.label, "terms": list(text.terms), "described_by": next(described, None)}
    moved = {"names": carried["names"], "text": record, "links": links}
    tx.run(
        "concept_merges/record",
        merge_id=merge_id,
        ontology=ontology,
        pair=" ".join(sorted(pair)),
        kept=kept,
        gone=gone,
        into=texts[kept].label,
        merged=text.label,
        sources=len(source_ids),
        **why,
        moved=json.dumps(moved, ensure_ascii=False) if undoable else None,
        linked=[link["other"] for link in links],
    )
    recorded = [{"source_id": id_, "row": json.dumps(row, ensure_ascii=False)} for id_, row in rows.items()]
    for part in split_into_portions(recorded, RECORDED):
        tx.run("concept_merges/record_rows", merge_id=merge_id, rows=part)


def _are_parted(tx: Transaction, ontology: str, pair: tuple[str, str]) -> bool:
    """Check if a user has separated two concepts, or concepts that were merged into them."""
    parted = [row["pair"].split() for row in tx.run("concept_merges/parted", ontology=ontology)]
    if not parted:
        return False
    one, other = ({each} for each in pair)
    for found in (one, other):
        new = {*found}
        while new:  # including all concepts that were merged into it
            rows = tx.run("concept_merges/made_of", ontology=ontology, ids=sorted(new))
            new = {row["gone"] for row in rows} - found
            found.update(new)
    return any((a in one and b in other) or (b in one and a in other) for a, b in parted)


# Undoing merges: a concept gets its former data back
#
# A merge records all moved data in its own transaction. Later data belongs to the remaining concept. Sources
# that were extracted since stay with the remaining concept and become pending again.


def list_concept_merges(
    graph: Graph, ontology: str, offset: int, limit: int, *, concept_id: str | None = None
) -> ConceptMerges:
    """Return merges of an ontology, or of one of its concepts, newest first."""
    require_ontologies(graph, ontology)
    found = _read_merges(graph, ontology, offset, limit, concept_id=concept_id)
    if concept_id is not None and not found.total:
        concept = find_concept(graph, concept_id)  # the id may be abbreviated
        if concept.ontology != ontology:
            raise NotFound(f"the concept {concept_id!r} is of {concept.ontology}, not of {ontology}")
        found = _read_merges(graph, ontology, offset, limit, concept_id=concept.concept_id)
    return found


def _read_merges(
    graph: Graph,
    ontology: str,
    offset: int,
    limit: int,
    *,
    merge_id: str | None = None,
    concept_id: str | None = None,
) -> ConceptMerges:
    ids = {"merge_id": merge_id, "concept_id": concept_id}
    row = graph.read("concept_merges/list", ontology=ontology, **ids, offset=offset, limit=limit)[0]
    merges = [ConceptMerge.model_validate(convert_times(each)) for each in row["merges"]]
    return ConceptMerges(ontology=ontology, merges=merges, total=row["total"], offset=offset, limit=limit)


def unmerge_concepts(graph: Graph, ontology: str, merge_id: str, by: str | None) -> ConceptMerge:
    """Separate two concepts permanently. Idempotent."""
    require_ontologies(graph, ontology)
    if not _read_merges(graph, ontology, 0, 1, merge_id=merge_id).merges:
        raise NotFound(
            f"concept merge {merge_id!r} not found in {ontology}. `kg admin concepts merges "
            f"--ontology {shlex.quote(ontology)}` lists the merges"
        )
    graph.transaction(lambda tx: _undo(tx, ontology, merge_id, by))
    return _read_merges(graph, ontology, 0, 1, merge_id=merge_id).merges[0]


def _undo(tx: Transaction, ontology: str, merge_id: str, by: str | None) -> None:
    held = tx.run("concept_merges/hold", merge_id=merge_id, ontology=ontology)
    if not held or held[0]["undone"]:
        return
    record = held[0]
    if record["moved"] is None:
        raise Conflict(
            "this merge cannot be undone: kg has no record of the moved sources, because the merged "
            "concept had too many. The concepts stay merged"
        )
    if record["later"]:
        raise Conflict(
            f"the target of this merge was merged again later. Undo {record['later']!r} first, then "
            "this merge. `kg admin concepts merges` lists the merges"
        )
    kept = record["kept"]
    locked = tx.run("concepts/merge_hold_sources", ontology=ontology, gone=kept)
    related = {each for row in locked for each in row["related"]}
    known = hold_concepts(tx, ontology, {kept, record["gone"], *related})
    if kept in known:
        rows = [json.loads(each["row"]) for each in tx.run("concept_merges/rows", merge_id=merge_id)]
        _restore_part(tx, ontology, record, rows, known)
    tx.run("concept_merges/undone", merge_id=merge_id, by=by)


def _restore_part(
    tx: Transaction, ontology: str, record: Row, rows: list[Row], known: Mapping[str, concepts.Text]
) -> None:
    """Restore both concepts in the recorded sources that kg has not extracted since. All nodes are locked."""
    kept, gone, at, moved = record["kept"], record["gone"], record["at"], json.loads(record["moved"])
    recorded: list[Row] = [each for row in rows for each in row["appearances"]]
    before = set[str]()
    for ids in split_into_portions([each["source_id"] for each in recorded if each["concept_id"] == gone]):
        found = tx.run("concept_merges/as_before", source_ids=ids, concept_id=kept, at=at)
        before |= {row["source_id"] for row in found}
    quotes: list[Row] = [each for row in rows for each in row["quotes"]]
    tx.run(
        "concepts/forget_quotes", ids=[each["instance_id"] for each in quotes if each["concept_id"] == gone]
    )
    every = sorted({each["source_id"] for each in recorded})
    if not before:  # the next extraction finds the concept again
        tx.run("concept_merges/prove", source_ids=every, ids=[kept])
        tx.run("concept_merges/forget_names", name_ids=[name["name_id"] for name in moved["names"]])
        tx.run("concept_merges/read_again", ids=[kept], at=at)
        return
    appearances = [each for each in recorded if each["source_id"] in before]
    text, described_by = moved["text"], moved["text"]["described_by"]
    restored_rows = (
        each["description"]
        for each in appearances
        if (each["concept_id"], each["source_id"]) == (gone, described_by)
    )
    own = concepts.Text(text["label"], next(restored_rows, ""), tuple(text["terms"]))
    write_texts(tx, ontology, {gone: own})
    tx.run("concept_merges/give_names", rows=moved["names"], concept_id=gone, ontology=ontology)
    for part in split_into_portions(appearances):
        tx.run("concepts/write_appearances", rows=part)
    for part in split_into_portions([each for each in quotes if each["source_id"] in before]):
        tx.run("concepts/write_quotes", rows=part, ontology=ontology)
    new = before - {each["source_id"] for each in appearances if each["concept_id"] == kept}
    tx.run("concept_merges/drop_appearances", source_ids=sorted(new), concept_id=kept)
    tx.run("concept_merges/prove", source_ids=every, ids=[kept, gone])
    relations = [each for row in rows for each in row["relations"]]
    for part in split_into_portions([each for each in relations if each["between"] is None]):
        tx.run("concept_merges/give_relations", rows=part, kept=kept, gone=gone)
    between = (each["between"] for each in relations if each["between"] is not None)
    write_relations(tx, ontology, [RelationRow(**row) for row in between if row["source_id"] in before])
    give_links_back(tx, moved["links"], gone, kept)
    both = {kept, gone}
    delete_orphans(tx, both)
    # The former description applies if its source still contains the concept.
    rebuild_texts(tx, ontology, {kept} if described_by in before else both, {**known, gone: own})
    tx.run("concept_merges/read_again", ids=sorted(both), at=at)
    request_embedding(tx, ontology, both, limited=False)
