"""Client methods for ontologies: communities, synonyms, language, embedding, and concept extraction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kg_api.client.call import UNSET, Call, Unset, build_body, build_change_body, delete, get, post, put
from kg_api.client.sending import request
from kg_api.schemas.communities import Communities, CommunityDetails
from kg_api.schemas.concepts import ExtractionConfig, ExtractionStatus
from kg_api.schemas.documents import Deleted, EmbeddingStatus, OntologyList
from kg_api.schemas.embedding import (
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    RefusedSources,
    Regeneration,
    RegenerationStarted,
)
from kg_api.schemas.languages import OntologyLanguage, Synonyms
from kg_api.schemas.operations import JobStarted
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
        return get(OntologyList, "ontologies")

    @request
    def delete_ontology(self, ontology: str) -> Call[Deleted]:
        return delete(Deleted, "ontologies", ontology)

    @request
    def communities(self, ontology: str, *, offset: int = 0, limit: int = 100) -> Call[Communities]:
        """List the communities of an ontology's concepts, the largest first."""
        return get(Communities, "ontologies", ontology, "communities", offset=offset, limit=limit)

    @request
    def community(
        self, ontology: str, community_id: str, *, concepts: int = 20, passages: int = 5
    ) -> Call[CommunityDetails]:
        """Get a community, to see the main concepts and passages."""
        path = ("ontologies", ontology, "communities", community_id)
        return get(CommunityDetails, *path, concepts=concepts, passages=passages)

    @request
    def detect_communities(self, ontology: str) -> Call[JobStarted]:
        """Detect communities now. A worker will do this when enough has changed."""
        return post(JobStarted, "ontologies", ontology, "communities")

    @request
    def passage_map(self, ontology: str, *, limit: int = USUAL_MAP_POINTS) -> Call[PassageMap]:
        """Get the passages in an ontology as points on a map."""
        return get(PassageMap, "ontologies", ontology, "map", limit=limit)

    @request
    def synonyms(self, ontology: str) -> Call[Synonyms]:
        return get(Synonyms, "ontologies", ontology, "synonyms")

    @request
    def set_synonyms(self, ontology: str, groups: Sequence[Sequence[str]]) -> Call[Synonyms]:
        """Replace the synonyms, using groups such as `["k8s", "kubernetes"]`.

        To delete all, use an empty list.
        """
        body = {"groups": [[*group] for group in groups]}
        return put(Synonyms, "ontologies", ontology, "synonyms", json=body, dry_run=False)

    @request
    def language(self, ontology: str) -> Call[OntologyLanguage]:
        """Get the language that is used to index the sources in an ontology."""
        return get(OntologyLanguage, "ontologies", ontology, "language")

    @request
    def set_language(self, ontology: str, language: TextLanguage) -> Call[OntologyLanguage]:
        """Use another language to index the sources.

        You have to repeat this until the result is `complete`.
        """
        body = {"language": language}
        return put(OntologyLanguage, "ontologies", ontology, "language", json=body, dry_run=False)

    @request
    def embedding_status(self, ontology: str | None = None) -> Call[EmbeddingStatus]:
        """Count embedded and pending items."""
        of = () if ontology is None else ("ontologies", ontology)
        return get(EmbeddingStatus, *of, "embedding-status")

    @request
    def embedding_config(self, ontology: str) -> Call[EmbeddingConfiguration]:
        """Get the embedding configuration, to see stale items and the cost to re-embed them."""
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
        """Change how kg embeds an ontology. You can use the fields in EmbeddingConfigChange as options.

        To keep a value, omit the option. To use the default, set it to None.
        """
        body, path = (
            build_change_body(EmbeddingConfigChange, locals()),
            ("ontologies", ontology, "embedding-config"),
        )
        return put(EmbeddingConfiguration, *path, json=body, dry_run=dry_run)

    @request
    def embed_ontology(self, ontology: str) -> Call[JobStarted]:
        """Embed missing and stale items now."""
        return post(JobStarted, "ontologies", ontology, "embeddings")

    @request
    def regenerate_embeddings(
        self,
        ontology: str | None = None,
        *,
        kind: EmbeddedKind | Literal["all"] = "source",
        selection: Selection = "due",
        force: bool = False,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> Call[RegenerationStarted]:
        """Embed missing and stale items. To embed all items again, use `force`."""
        body = build_body(Regeneration, locals(), type=kind)
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return post(RegenerationStarted, "embeddings", "regenerate", json=body, headers=headers)

    @request
    def rejected(self, ontology: str) -> Call[RefusedSources]:
        """List the sources that the embedding model rejects, with the reasons."""
        return get(RefusedSources, "ontologies", ontology, "rejected")

    @request
    def extraction_config(self, ontology: str, *, with_cost: bool = False) -> Call[ExtractionStatus]:
        """Get the configuration and the progress for extraction.

        You can also get the cost to extract pending sources.
        """
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
        """Change how kg extracts concepts. You can use the fields in ExtractionConfig as options.

        To keep a value, omit the option. To use the setting from the service, set it to None.
        """
        body = build_change_body(ExtractionConfig, locals())
        return put(ExtractionStatus, "ontologies", ontology, "extraction-config", json=body, dry_run=dry_run)

    @request
    def extract_concepts(self, ontology: str, *, stale: bool = False) -> Call[JobStarted]:
        """Extract concepts from pending and rejected sources now.

        Use `stale` to include sources that another model or prompt has read. This may cost money.
        """
        params = {"stale": True} if stale else {}
        return post(JobStarted, "ontologies", ontology, "extraction", params=params)

    @request
    def extraction_rejected(self, ontology: str) -> Call[RefusedSources]:
        """List the sources from which concepts could not be extracted, with the reasons."""
        return get(RefusedSources, "ontologies", ontology, "extraction-rejected")
