"""Concepts and their evidence on their way in: all of a batch in one transaction, or nothing.

Writers lock in one order: sources, names, concepts, each by id. What locks each other out all the same, as
merging and deleting may, is tried again by the driver.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kg_api.errors import DatabaseUnavailable
from kg_api.graph.concepts.evidence import present_evidence, write_evidence
from kg_api.graph.concepts.names import (
    Text,
    clean_name,
    first_texts,
    names_of,
    resolve_names,
)
from kg_api.graph.concepts.rows import (
    IMPORTED,
    Difference,
    EvidenceRows,
    difference,
    evidence,
    find_changed_texts,
    unsaid,
)
from kg_api.graph.concepts.texts import (
    ask_for_embedding,
    delete_orphans,
    hold_concepts,
    retell,
    write_texts,
)
from kg_api.graph.database import Graph, Transaction, portions
from kg_api.graph.spaces.due import SourceText, Wanted, count_due, due_sources
from kg_api.graph.spaces.marks import EXTRACTION_MARK, Mark
from kg_api.models.concepts.extraction import Extraction
from kg_api.models.vocabulary import Selection


@dataclass(frozen=True, slots=True)
class Written:
    """What became of extractions."""

    done: int
    """Sources."""
    emptied: int
    """Of them those that carried imported concepts before, and carry none now."""


REASON_CHARACTERS = 300
LOOKS = 5
"""So often names are looked up again when what they mean has gone meanwhile."""


def write_extractions(
    tx: Transaction, ontology: str, extractions: Sequence[Extraction], mark: str, *, imported: bool = False
) -> Written:
    """Write within the caller's transaction what was found in some sources, and ask for its embedding.

    What was found there before goes, if it is of the same origin. Doing it twice changes nothing. A source
    that has changed or gone meanwhile is passed over and stays due; one that was refused keeps its evidence.

    Args:
        tx: the transaction, which may run twice.
        ontology: of the sources.
        extractions: what was found, one for a source.
        mark: of the extractor, or of the import.
        imported: whether people or files said it; extraction does not touch it then, nor is the source read.

    Returns:
        How many sources are done, and what that took away.

    Raises:
        TooBusy: the job of embedding would be made, and too many wait; the transaction must not be committed.
    """
    sources = _hold_sources(tx, ontology, extractions)
    held = [each for each in extractions if each.source_id in sources]
    read = [each for each in held if each.refused is None]
    names = names_of(ontology, read)
    carried = {concept for each in read for concept in sources[each.source_id].concept_ids}
    stored, known = _hold_concepts(tx, ontology, names, carried)
    means = resolve_names(ontology, read, stored)
    texts = {identity: source.full_text for identity, source in sources.items()}
    wanted = evidence(ontology, read, means, texts, f"{IMPORTED}{mark}" if imported else mark)
    proven = {each.source_id for each in read if sources[each.source_id].is_evidence}
    present = present_evidence(tx, [each.source_id for each in read], proven)
    found = difference(wanted, present, imported=imported)
    lost = unsaid(found, present)
    more = [row for row in found.write.appearances if row.concept_id not in lost]
    changed = find_changed_texts(first_texts(ontology, read, means) | known, known, more)
    write_texts(tx, ontology, changed)
    _write_names(tx, {name: means[name] for name in names if name not in stored})
    write_evidence(tx, ontology, found, new={each.source_id for each in read}.difference(proven))
    _mark(tx, ontology, held, mark, found, imported=imported)
    delete_orphans(tx, {row.concept_id for row in found.gone.appearances})
    retold = retell(tx, ontology, lost, known)
    more_sources = {row.concept_id for row in found.write.appearances}  # a second one makes a concept due
    ask_for_embedding(tx, ontology, retold.union(changed, more_sources))
    return Written(len(held), len(_imported(present) - _imported(wanted)) if imported else 0)


def due_for_extraction(
    graph: Graph,
    ontology: str,
    mark: str,
    after: tuple[str, int],
    limit: int,
    *,
    selection: Selection = "due",
) -> list[SourceText]:
    """The next sources that are to be read, in reading order.

    Args:
        graph: where they are.
        ontology: whose.
        mark: of the extractor.
        after: document and paragraph of the last one that was looked at; ("", -1) at the beginning.
        limit: most of them.
        selection: `due`: all that no extractor of this mark has read; `missing`: that none has read.
    """
    return due_sources(graph, _unread(ontology, mark, selection), after=after, limit=limit)


def count_for_extraction(graph: Graph, ontology: str, mark: str, selection: Selection = "due") -> int:
    """How many sources are to be read; see `due_for_extraction`."""
    return count_due(graph, _unread(ontology, mark, selection))


def reading_mark(mark: str) -> Mark:
    """Sources that an extractor has read are marked as those that are embedded."""
    return Mark("Source", EXTRACTION_MARK, mark, "extracted_at", "not_extracted_because")


def _unread(ontology: str, mark: str, selection: Selection) -> Wanted:
    read = reading_mark(mark)
    return Wanted(ontology, read, read.key, selection)


@dataclass(frozen=True, slots=True)
class _HeldSource:
    """A source that is locked: no evidence comes to it, and none goes, before the transaction ends."""

    full_text: str
    concept_ids: Sequence[str]
    """Of the concepts that it carries."""
    is_evidence: bool
    """Whether it carries a concept, or is quoted for one."""


def _hold_sources(
    tx: Transaction, ontology: str, extractions: Sequence[Extraction]
) -> dict[str, _HeldSource]:
    """Lock the sources that are still what was read; by id."""
    rows = [
        {
            "source_id": each.source_id,
            "content_hash": each.content_hash,
            "block_kinds": each.block_kinds,
        }
        for each in sorted(extractions, key=lambda each: each.source_id)
    ]
    held = tx.run("concepts/hold_sources", rows=rows, ontology=ontology)
    return {row.pop("source_id"): _HeldSource(**row) for row in held}


def _hold_concepts(
    tx: Transaction, ontology: str, names: Mapping[str, str], carried: Collection[str]
) -> tuple[dict[str, str], dict[str, Text]]:
    """Lock what some names mean and what is carried; by name its concept, and what is said of all.

    Names that are there are only read: whoever deletes one has locked its concept first.
    """
    for _ in range(LOOKS):
        stored = _find_or_create(tx, ontology, names)
        held = hold_concepts(tx, ontology, {*carried, *filter(None, stored.values())})
        if held.keys() >= {*stored.values()}:
            return stored, held
    raise DatabaseUnavailable(
        "concepts change faster than they can be written; it will be retried automatically"
    )


def _imported(rows: EvidenceRows) -> set[str]:
    """The sources of which somebody brought something."""
    every = (*rows.appearances, *rows.quotes, *rows.relations)
    return {row.source_id for row in every if row.extracted_with.startswith(IMPORTED)}


def _find_or_create(tx: Transaction, ontology: str, names: Mapping[str, str]) -> dict[str, str]:
    """By name, the concept that it means; names that are new are made and mean nothing yet.

    What is just being deleted has no properties: making its name anew waits for that.
    """
    rows = [row for ids in portions([*names]) for row in tx.run("concepts/find_names", name_ids=ids)]
    found = [row for row in rows if row["name_id"] and row["concept_id"]]
    there = {row["name_id"] for row in found}
    new = [{"name_id": each, "name": name} for each, name in names.items() if each not in there]
    for part in portions(new):
        found += tx.run("concepts/make_names", rows=part, ontology=ontology)
    return {row["name_id"]: row["concept_id"] for row in found}


def _write_names(tx: Transaction, means: Mapping[str, str]) -> None:
    rows = [{"name_id": name, "concept_id": concept} for name, concept in means.items()]
    for part in portions(rows):
        tx.run("concepts/write_names", rows=part)


def _mark(
    tx: Transaction,
    ontology: str,
    held: Sequence[Extraction],
    mark: str,
    found: Difference,
    *,
    imported: bool,
) -> None:
    if imported:
        tx.run("concepts/unmark_sources", source_ids=found.gone.source_ids)
        return
    rows = [
        {
            "source_id": each.source_id,
            "refused": each.refused and clean_name(each.refused, REASON_CHARACTERS),
            "unverified": each.unverified or None,
        }
        for each in held
    ]
    tx.run("concepts/mark_sources", rows=rows, ontology=ontology, mark=mark)
