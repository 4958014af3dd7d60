# Written by scripts/unasync.py from ../asynchronous/ontologies.py; change that, not this.
"""Ontologies, and how they are embedded."""

from __future__ import annotations

from typing import Literal

from kg_api.client.call import UNSET, Call, Unset, body_of, change_of, params_of, path_of
from kg_api.client.sync.sending import Sending
from kg_api.models.embedding.configuration import (
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    EmbeddingStarted,
    RefusedSources,
)
from kg_api.models.embedding.regeneration import Regeneration, RegenerationStarted
from kg_api.models.library.documents import Deleted, EmbeddingStatus, OntologyList
from kg_api.models.vocabulary import ContextMode, EmbeddedKind, Selection, Strategy


class OntologyMethods(Sending):
    """Ontologies."""

    def ontologies(self) -> OntologyList:
        """List ontologies with their counts."""
        return self._send(Call("GET", "/ontologies", OntologyList))

    def delete_ontology(self, ontology: str) -> Deleted:
        """Delete an ontology with its documents."""
        return self._send(Call("DELETE", path_of("ontologies", ontology), Deleted))

    def embedding_status(self, ontology: str | None = None) -> EmbeddingStatus:
        """Count what is embedded and what is not."""
        of = () if ontology is None else ("ontologies", ontology)
        return self._send(Call("GET", path_of(*of, "embedding-status"), EmbeddingStatus))

    def embedding_config(self, ontology: str) -> EmbeddingConfiguration:
        """Read how an ontology is embedded, what is stale, and what making it anew takes."""
        path = path_of("ontologies", ontology, "embedding-config")
        return self._send(Call("GET", path, EmbeddingConfiguration))

    def set_embedding_config(
        self,
        ontology: str,
        *,
        dry_run: bool = False,
        strategy: Strategy | Unset | None = UNSET,
        chunk_size: int | Unset | None = UNSET,
        overlap: int | Unset | None = UNSET,
        parent_size: int | Unset | None = UNSET,
        context: ContextMode | Unset | None = UNSET,
        space: str | Unset | None = UNSET,
        embed_on_ingest: bool | Unset | None = UNSET,
    ) -> EmbeddingConfiguration:
        """Change how an ontology is embedded, as EmbeddingConfigChange has it.

        What is left out stays as it is; None is the default.
        """
        path = path_of("ontologies", ontology, "embedding-config")
        body = change_of(
            EmbeddingConfigChange,
            strategy=strategy,
            chunk_size=chunk_size,
            overlap=overlap,
            parent_size=parent_size,
            context=context,
            space=space,
            embed_on_ingest=embed_on_ingest,
        )
        params = params_of(dry_run=dry_run or None)
        return self._send(Call("PUT", path, EmbeddingConfiguration, params=params, json=body))

    def embed_ontology(self, ontology: str) -> EmbeddingStarted:
        """Have embedded what is missing or stale, now."""
        return self._send(Call("POST", path_of("ontologies", ontology, "embeddings"), EmbeddingStarted))

    def regenerate_embeddings(
        self,
        ontology: str | None = None,
        *,
        kind: EmbeddedKind | Literal["all"] = "source",
        selection: Selection = "due",
        force: bool = False,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> RegenerationStarted:
        """Make embeddings of one ontology, or of all: what is missing or stale; with `force` all."""
        asked = {"ontology": ontology, "type": kind, "selection": selection, "force": force}
        body = body_of(Regeneration, **asked, dry_run=dry_run)
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        call = Call("POST", "/embeddings/regenerate", RegenerationStarted, json=body, headers=headers)
        return self._send(call)

    def refused(self, ontology: str) -> RefusedSources:
        """Read which sources the model does not take, and why."""
        return self._send(Call("GET", path_of("ontologies", ontology, "refused"), RefusedSources))
