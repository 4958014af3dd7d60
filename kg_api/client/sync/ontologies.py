# Written by scripts/unasync.py from ../asynchronous/ontologies.py; change that, not this.
"""Ontologies, what they are about, how they are embedded, and how concepts are extracted from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from kg_api.client.sync.sending import Sending
from kg_api.client.transport.call import UNSET, Unset, body_of, change_of, delete, get, post, put
from kg_api.schemas.communities import Communities, CommunityDetails, CommunityRequest
from kg_api.schemas.concepts import ExtractionConfig, ExtractionStarted, ExtractionStatus, UnreadSources
from kg_api.schemas.documents import Deleted, EmbeddingStatus, OntologyList
from kg_api.schemas.embedding import (
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    EmbeddingStarted,
    RefusedSources,
    Regeneration,
    RegenerationStarted,
)
from kg_api.schemas.filters import AnyOf, Condition
from kg_api.schemas.languages import OntologyLanguage, Synonyms
from kg_api.schemas.similarity import PassageMap
from kg_api.schemas.vocabulary import (
    USUAL_MAP_POINTS,
    ContextMode,
    EmbeddedKind,
    ExtractorName,
    Selection,
    Strategy,
    TextLanguage,
)


class OntologyMethods(Sending):
    """Ontologies."""

    def ontologies(self) -> OntologyList:
        """List ontologies with their counts."""
        return self._send(get(OntologyList, "ontologies"))

    def delete_ontology(self, ontology: str) -> Deleted:
        """Delete an ontology with its documents."""
        return self._send(delete(Deleted, "ontologies", ontology))

    def communities(
        self, ontology: str, *, level: int = 0, parent: str | None = None, offset: int = 0, limit: int = 100
    ) -> Communities:
        """List what an ontology is about: communities of its concepts, the largest first; or parts of one."""
        asked = {"level": level, "parent": parent, "offset": offset, "limit": limit}
        return self._send(get(Communities, "ontologies", ontology, "communities", **asked))

    def community(
        self, ontology: str, community_id: str, *, concepts: int = 20, passages: int = 5
    ) -> CommunityDetails:
        """Read a community with its first concepts, and the passages and documents that say most of it."""
        path = ("ontologies", ontology, "communities", community_id)
        return self._send(get(CommunityDetails, *path, concepts=concepts, passages=passages))

    def detect_communities(self, ontology: str) -> CommunityRequest:
        """Have communities detected now; else a worker does it when enough has changed."""
        return self._send(post(CommunityRequest, "ontologies", ontology, "communities"))

    def passage_map(self, ontology: str, *, limit: int = USUAL_MAP_POINTS) -> PassageMap:
        """Read the passages of an ontology as points in two dimensions, column by column."""
        return self._send(get(PassageMap, "ontologies", ontology, "map", limit=limit))

    def synonyms(self, ontology: str) -> Synonyms:
        """Read the words that searches of an ontology take for each other."""
        return self._send(get(Synonyms, "ontologies", ontology, "synonyms"))

    def set_synonyms(self, ontology: str, groups: Sequence[Sequence[str]]) -> Synonyms:
        """Replace them: groups such as `["k8s", "kubernetes"]`; none takes all away."""
        body = {"groups": [[*group] for group in groups]}
        return self._send(put(Synonyms, "ontologies", ontology, "synonyms", json=body, dry_run=False))

    def language(self, ontology: str) -> OntologyLanguage:
        """Read in which language the sources of an ontology are indexed."""
        return self._send(get(OntologyLanguage, "ontologies", ontology, "language"))

    def set_language(self, ontology: str, language: TextLanguage) -> OntologyLanguage:
        """Index them in another, for some seconds; while it is not `complete`, the same call goes on."""
        body = {"language": language}
        call = put(OntologyLanguage, "ontologies", ontology, "language", json=body, dry_run=False)
        return self._send(call)

    def embedding_status(self, ontology: str | None = None) -> EmbeddingStatus:
        """Count what is embedded and what is not."""
        of = () if ontology is None else ("ontologies", ontology)
        return self._send(get(EmbeddingStatus, *of, "embedding-status"))

    def embedding_config(self, ontology: str) -> EmbeddingConfiguration:
        """Read how an ontology is embedded, what is stale, and what making it anew takes."""
        return self._send(get(EmbeddingConfiguration, "ontologies", ontology, "embedding-config"))

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
        context_template: str | Unset | None = UNSET,
        space: str | Unset | None = UNSET,
        embed_on_ingest: bool | Unset | None = UNSET,
    ) -> EmbeddingConfiguration:
        """Change how an ontology is embedded, as EmbeddingConfigChange has it.

        What is left out stays as it is; None is the default.
        """
        body, path = change_of(EmbeddingConfigChange, locals()), ("ontologies", ontology, "embedding-config")
        return self._send(put(EmbeddingConfiguration, *path, json=body, dry_run=dry_run))

    def embed_ontology(self, ontology: str) -> EmbeddingStarted:
        """Have embedded what is missing or stale, now."""
        return self._send(post(EmbeddingStarted, "ontologies", ontology, "embeddings"))

    def regenerate_embeddings(
        self,
        ontology: str | None = None,
        *,
        kind: EmbeddedKind | Literal["all"] = "source",
        selection: Selection = "due",
        force: bool = False,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> RegenerationStarted:
        """Make embeddings of one ontology, or of all: what is missing or stale; with `force` all.

        With `force` and `where`, those of the documents that fit.
        """
        body = body_of(Regeneration, locals(), type=kind)
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        call = post(RegenerationStarted, "embeddings", "regenerate", json=body, headers=headers)
        return self._send(call)

    def refused(self, ontology: str) -> RefusedSources:
        """Read which sources the model does not take, and why."""
        return self._send(get(RefusedSources, "ontologies", ontology, "refused"))

    def extraction_config(self, ontology: str, *, with_cost: bool = False) -> ExtractionStatus:
        """Read how concepts are extracted and how far that is; with what the rest takes, if asked for."""
        call = get(ExtractionStatus, "ontologies", ontology, "extraction-config", with_cost=with_cost or None)
        return self._send(call)

    def set_extraction_config(
        self,
        ontology: str,
        *,
        dry_run: bool = False,
        extractor: ExtractorName | Unset | None = UNSET,
        per_source: int | Unset | None = UNSET,
        budget: float | Unset | None = UNSET,
    ) -> ExtractionStatus:
        """Set how concepts are extracted, as ExtractionConfig has it.

        What is left out stays as it is; None is the service's own setting.
        """
        body = change_of(ExtractionConfig, locals())
        call = put(ExtractionStatus, "ontologies", ontology, "extraction-config", json=body, dry_run=dry_run)
        return self._send(call)

    def extract_concepts(self, ontology: str, *, stale: bool = False) -> ExtractionStarted:
        """Have concepts extracted from what is due, now; what was set aside is tried again.

        With `stale` also from what another model or prompt has read, which may cost.
        """
        params = {"stale": True} if stale else {}
        call = post(ExtractionStarted, "ontologies", ontology, "extraction", params=params)
        return self._send(call)

    def extraction_refused(self, ontology: str) -> UnreadSources:
        """List the sources that no concepts came of, with the reasons."""
        return self._send(get(UnreadSources, "ontologies", ontology, "extraction-refused"))
