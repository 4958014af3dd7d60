"""Importing concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.client.call import Call, path_of, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.concepts.imports import ConceptImport, ConceptRow, ConceptsImported

Rows = Sequence[ConceptRow | dict[str, Any]]
"""Each names a document (document or title) or a source (source_id), and has concepts and relations."""


def import_concepts(rows: Rows, ontology: str) -> Call[ConceptsImported]:
    """Tie concepts to stored sources."""
    plain = [each.model_dump(exclude_unset=True) if isinstance(each, ConceptRow) else each for each in rows]
    body = valid(ConceptImport, {"rows": plain}).model_dump(mode="json", exclude_unset=True)
    return Call("POST", path_of("ontologies", ontology, "concepts"), ConceptsImported, json=body)


class ConceptImportMethods(Sending):
    """Methods of the synchronous client."""

    def import_concepts(self, rows: Rows, *, ontology: str) -> ConceptsImported:
        """Tie concepts to the stored sources that say them, at most 500 rows at once.

        All rows of a document go into one call: what was imported for its sources before is replaced. More
        rows are cut so by `kg_api.models.concepts.imports.portions`.
        """
        return self._send(import_concepts(rows, ontology))


class AsyncConceptImportMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def import_concepts(self, rows: Rows, *, ontology: str) -> ConceptsImported:
        """Tie concepts to the stored sources that say them, at most 500 rows at once.

        All rows of a document go into one call: what was imported for its sources before is replaced. More
        rows are cut so by `kg_api.models.concepts.imports.portions`.
        """
        return await self._send(import_concepts(rows, ontology))
