"""Ontologies, what they are about, how they are embedded, and how concepts are extracted from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from kg_api.client.call import UNSET, Call, Unset, body_of, change_of, delete, get, post, put
from kg_api.client.sending import request
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


class OntologyMethods:
    @request
    def ontologies(self) -> Call[OntologyList]:
        """List ontologies with their counts."""
        return get(OntologyList, "ontologies")

    @request
    def delete_ontology(self, ontology: str) -> Call[Deleted]:
        """Delete an ontology with its documents."""
        return delete(Deleted, "ontologies", ontology)

    @request
    def communities(
        self, ontology: str, *, level: int = 0, parent: str | None = None, offset: int = 0, limit: int = 100
    ) -> Call[Communities]:
        """List what an ontology is about: communities of its concepts, the largest first; or parts of one."""
        asked = {"level": level, "parent": parent, "offset": offset, "limit": limit}
        return get(Communities, "ontologies", ontology, "communities", **asked)

    @request
    def community(
        self, ontology: str, community_id: str, *, concepts: int = 20, passages: int = 5
    ) -> Call[CommunityDetails]:
        """Read a community with its first concepts, and the passages and documents that say most of it."""
        path = ("ontologies", ontology, "communities", community_id)
        return get(CommunityDetails, *path, concepts=concepts, passages=passages)

    @request
    def detect_communities(self, ontology: str) -> Call[CommunityRequest]:
        """Have communities detected now; else a worker does it when enough has changed."""
        return post(CommunityRequest, "ontologies", ontology, "communities")

    @request
    def passage_map(self, ontology: str, *, limit: int = USUAL_MAP_POINTS) -> Call[PassageMap]:
        """Read the passages of an ontology as points in two dimensions, column by column."""
        return get(PassageMap, "ontologies", ontology, "map", limit=limit)

    @request
    def synonyms(self, ontology: str) -> Call[Synonyms]:
        """Read the words that searches of an ontology take for each other."""
        return get(Synonyms, "ontologies", ontology, "synonyms")

    @request
    def set_synonyms(self, ontology: str, groups: Sequence[Sequence[str]]) -> Call[Synonyms]:
        """Replace them: groups such as `["k8s", "kubernetes"]`; none takes all away."""
        body = {"groups": [[*group] for group in groups]}
        return put(Synonyms, "ontologies", ontology, "synonyms", json=body, dry_run=False)

    @request
    def language(self, ontology: str) -> Call[OntologyLanguage]:
        """Read in which language the sources of an ontology are indexed."""
        return get(OntologyLanguage, "ontologies", ontology, "language")

    @request
    def set_language(self, ontology: str, language: TextLanguage) -> Call[OntologyLanguage]:
        """Index them in another, for some seconds; while it is not `complete`, the same call goes on."""
        body = {"language": language}
        return put(OntologyLanguage, "ontologies", ontology, "language", json=body, dry_run=False)

    @request
    def embedding_status(self, ontology: str | None = None) -> Call[EmbeddingStatus]:
        """Count what is embedded and what is not."""
        of = () if ontology is None else ("ontologies", ontology)
        return get(EmbeddingStatus, *of, "embedding-status")

    @request
    def embedding_config(self, ontology: str) -> Call[EmbeddingConfiguration]:
        """Read how an ontology is embedded, what is stale, and what making it anew takes."""
        return get(EmbeddingConfiguration, "ontologies", ontology, "embedding-config")

    @request
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
    ) -> Call[EmbeddingConfiguration]:
        """Change how an ontology is embedded, as EmbeddingConfigChange has it.

        What is left out stays as it is; None is the default.
        """
        body, path = change_of(EmbeddingConfigChange, locals()), ("ontologies", ontology, "embedding-config")
        return put(EmbeddingConfiguration, *path, json=body, dry_run=dry_run)

    @request
    def embed_ontology(self, ontology: str) -> Call[EmbeddingStarted]:
        """Have embedded what is missing or stale, now."""
        return post(EmbeddingStarted, "ontologies", ontology, "embeddings")

    @request
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
    ) -> Call[RegenerationStarted]:
        """Make embeddings of one ontology, or of all: what is missing or stale; with `force` all.

        With `force` and `where`, those of the documents that fit.
        """
        body = body_of(Regeneration, locals(), type=kind)
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return post(RegenerationStarted, "embeddings", "regenerate", json=body, headers=headers)

    @request
    def refused(self, ontology: str) -> Call[RefusedSources]:
        """Read which sources the model does not take, and why."""
        return get(RefusedSources, "ontologies", ontology, "refused")

    @request
    def extraction_config(self, ontology: str, *, with_cost: bool = False) -> Call[ExtractionStatus]:
        """Read how concepts are extracted and how far that is; with what the rest takes, if asked for."""
        return get(ExtractionStatus, "ontologies", ontology, "extraction-config", with_cost=with_cost or None)

    @request
    def set_extraction_config(
        self,
        ontology: str,
        *,
        dry_run: bool = False,
        extractor: ExtractorName | Unset | None = UNSET,
        per_source: int | Unset | None = UNSET,
        budget: float | Unset | None = UNSET,
    ) -> Call[ExtractionStatus]:
        """Set how concepts are extracted, as ExtractionConfig has it.

        What is left out stays as it is; None is the service's own setting.
        """
        body = change_of(ExtractionConfig, locals())
        return put(ExtractionStatus, "ontologies", ontology, "extraction-config", json=body, dry_run=dry_run)

    @request
    def extract_concepts(self, ontology: str, *, stale: bool = False) -> Call[ExtractionStarted]:
        """Have concepts extracted from what is due, now; what was set aside is tried again.

        With `stale` also from what another model or prompt has read, which may cost.
        """
        params = {"stale": True} if stale else {}
        return post(ExtractionStarted, "ontologies", ontology, "extraction", params=params)

    @request
    def extraction_refused(self, ontology: str) -> Call[UnreadSources]:
        """List the sources that no concepts came of, with the reasons."""
        return get(UnreadSources, "ontologies", ontology, "extraction-refused")
