"""Writing the differences of several documents of one ontology, each statement once for all of them.

Whoever calls holds the documents. Workers who embed or read their sources do not: rows of sources that are
there go in the order of their ids, as the workers' do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kg_api.graph.concepts.removal import forget_evidence
from kg_api.graph.database import Row, Transaction, portions
from kg_api.graph.documents.difference import (
    DocumentDifference,
    block_row,
    new_row,
    placed_row,
    scope_of,
    source_row,
)
from kg_api.graph.fulltext.scopes import aliases_at
from kg_api.graph.spaces.configuration import StoredConfiguration

SOURCES_A_STATEMENT = 1000


def write_blocks(tx: Transaction, differences: Sequence[DocumentDifference]) -> Counter[str]:
    """Write the blocks of sources that stay; by document, how many are to be read for concepts again."""
    owners = _owners(differences)
    rows = [block_row(source_row(source)) for each in differences for source in each.other_blocks]
    changed = (tx.run("sources/set_blocks", rows=part) for part in _parts(rows))
    return Counter(owners[row["source_id"]] for found in changed for row in found)


def write_sources(tx: Transaction, differences: Sequence[DocumentDifference]) -> Counter[str]:
    """Write what is new, moved and gone.

    Returns:
        By document: how many sources lost a chunk which they shared with one that has gone.
    """
    owners = _owners(differences)
    bereft = _delete(tx, [identity for each in differences for identity in each.gone])
    for rows in _parts(
        placed_row(each.record, source, each.language) for each in differences for source in each.moved
    ):
        tx.run("sources/move_many", rows=rows)
    new = [new_row(each.record, source, each.language) for each in differences for source in each.new]
    for rows in portions(new, SOURCES_A_STATEMENT):
        tx.run("sources/create_many", rows=rows)
    for rows in _parts(_title_rows(differences)):
        tx.run("sources/set_title", rows=rows)
    return Counter(owners[identity] for identity in bereft)


def look_again(
    tx: Transaction, differences: Sequence[DocumentDifference], stored: StoredConfiguration
) -> Counter[str]:
    """Let sources be planned anew whose chunks or contexts the change may touch; by document, how many."""
    there = [each.record.document_id for each in differences if each.before["content_hash"] is not None]
    if not there:
        return Counter()
    owners = _owners(differences)
    broken = tx.run("chunks/delete_broken", document_ids=there)
    found = Counter(owners[each] for each in {each for row in broken for each in row["shared"]})
    ids = [each.record.document_id for each in differences if each.kept and _is_touched(each, stored)]
    if ids:
        mark_property = stored.answering.mark_property
        rows = tx.run("sources/unmark_documents", document_ids=ids, mark_property=mark_property)
        found.update({row["document_id"]: row["unmarked"] for row in rows})
    return found


def _is_touched(difference: DocumentDifference, stored: StoredConfiguration) -> bool:
    """Whether chunks or contexts of sources that stay may be others now."""
    configs = [layout.config(embed_on_ingest=True) for layout in stored.layouts]
    anew = any(difference.described_anew(each.context, each.context_template) for each in configs)
    crosses = any(config.crosses_sources for config in configs)
    return anew or (crosses and difference.reshapes)


def _delete(tx: Transaction, gone: Sequence[str]) -> set[str]:
    """Delete sources with all that only they support; give those that shared a chunk with one and stay."""
    bereft: set[str] = set()
    forget_evidence(tx, gone)
    for ids in portions(sorted(gone), SOURCES_A_STATEMENT):
        bereft.update(tx.run("sources/delete_many", ids=ids)[0]["shared"])
    return bereft.difference(gone)


def _title_rows(differences: Sequence[DocumentDifference]) -> Iterator[Row]:
    """The new titles and aliases of the sources that stay; new ones have them."""
    for each in differences:
        title, metadata = each.record.title, each.record.metadata
        for source in each.kept:
            was = each.before["title"], aliases_at(source.paragraph, each.before["metadata"])
            if was != (title, aliases_at(source.paragraph, metadata)):
                scope = scope_of(each.record, source, each.language)
                yield {"source_id": source.source_id, "title": title, "scope": scope}


def _owners(differences: Sequence[DocumentDifference]) -> dict[str, str]:
    """The document of each source that stays."""
    return {source.source_id: each.record.document_id for each in differences for source in each.kept}


def _parts(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    """Rows of sources that are there, in the order of their ids."""
    return portions(sorted(rows, key=lambda row: row["source_id"]), SOURCES_A_STATEMENT)
