"""The one place that wires everything."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Self

import structlog

from kg_api.answer.service import AnswerService
from kg_api.augment.service import AugmentService
from kg_api.blobs.open import open_blobs
from kg_api.communities.job import CommunityDetection
from kg_api.communities.service import CommunityService
from kg_api.concepts.merging.merge import link_near, merge_near
from kg_api.concepts.merging.records import ConceptMergeRecords
from kg_api.concepts.relations.search import RelationshipSearcher
from kg_api.concepts.relations.vocabulary import RelationshipVocabulary
from kg_api.concepts.service import ConceptService
from kg_api.configure.check import SpaceChecker
from kg_api.configure.drop import DropService
from kg_api.configure.embedding import EmbeddingRequests
from kg_api.configure.estimate import Estimator
from kg_api.configure.extraction import ExtractionService
from kg_api.configure.images.check import ImageSpaceChecker
from kg_api.configure.images.switch import ImageSwitch
from kg_api.configure.models import ModelService
from kg_api.configure.service import ConfigurationService
from kg_api.configure.switch import SwitchService
from kg_api.constructive.service import ConstructiveService
from kg_api.convert.isolated.pool import ConverterPool
from kg_api.embed.image.open import open_image_embedder
from kg_api.embed.metered import open_metered
from kg_api.errors import ConfigurationError
from kg_api.extract.open import Extractors
from kg_api.extract.requests import ExtractionRequests
from kg_api.graph.database import Graph
from kg_api.graph.migrations import migrate
from kg_api.images.files import StoredFiles
from kg_api.images.keeping import StoringKeeper
from kg_api.images.pages import PageService
from kg_api.images.service import ImageService
from kg_api.ingest.reading import DocumentReader
from kg_api.ingest.review import ReviewService
from kg_api.ingest.service import IngestService
from kg_api.jobs.backfill import Backfill
from kg_api.jobs.concept_extraction import ConceptExtraction
from kg_api.jobs.embedding.concept_job import ConceptEmbedding
from kg_api.jobs.embedding.edges.job import EdgeEmbedding
from kg_api.jobs.embedding.image_job import ImageEmbedding
from kg_api.jobs.embedding.source_job import SourceEmbedding
from kg_api.jobs.run import Handler
from kg_api.jobs.space_cleanup import SpaceCleanup
from kg_api.llm.lazy import LanguageModel
from kg_api.managed.home import Home
from kg_api.managed.neo4j.role import disk_room
from kg_api.moving.service import MovingService
from kg_api.planning.contexts import Contexts
from kg_api.proposals.job import LinkProposal
from kg_api.proposals.requests import ProposalRequests
from kg_api.proposals.service import ProposalService
from kg_api.provider.retrying import RetryPolicy
from kg_api.rerank.open import open_reranker
from kg_api.rerank.port import Reranker
from kg_api.search.hybrid import HybridService
from kg_api.search.plan.hyde import Hyde
from kg_api.search.rank.ranker import Reranking
from kg_api.search.service import SearchService
from kg_api.settings import Settings
from kg_api.similarity.images.service import ImageSearchService
from kg_api.similarity.related.service import RelatedService
from kg_api.similarity.service import SimilarityService
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.first import open_first_space, register_first_images
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.providers import batch_size_of_space, price_of_space
from kg_api.spaces.registry import SpaceRegistry
from kg_api.sync.access import FolderAccess
from kg_api.sync.handler import FolderSync
from kg_api.sync.service import FolderService

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Container:
    """All parts of a running kg, opened once a process."""

    settings: Settings
    graph: Graph
    spaces: SpaceRegistry
    image_spaces: ImageSpaceRegistry
    contexts: Contexts
    converters: ConverterPool
    reader: DocumentReader
    images: ImageService
    pages: PageService
    ingest: IngestService
    review: ReviewService
    folders: FolderService
    search: SearchService
    hybrid: HybridService
    reranker: Reranker | None
    similarity: SimilarityService
    related: RelatedService
    image_search: ImageSearchService
    concepts: ConceptService
    relationships: RelationshipSearcher
    relationship_types: RelationshipVocabulary
    constructive: ConstructiveService
    proposals: ProposalService
    communities: CommunityService
    concept_merges: ConceptMergeRecords
    augment: AugmentService
    answer: AnswerService
    llms: tuple[LanguageModel, ...]
    """Opened when they are first needed."""
    extractors: Extractors
    extraction: ExtractionService
    extraction_requests: ExtractionRequests
    configure: ConfigurationService
    embeddings: EmbeddingRequests
    switch: SwitchService
    drop: DropService
    models: ModelService
    moving: MovingService

    def handlers(self) -> list[Handler]:
        """What a worker can run."""
        entries = self.settings.embedding.cache_entries
        passages = CachedPassages(self.graph, keeps=entries > 0)
        batch, many = self.settings.worker.sources_a_batch, self.settings.embedding.requests_at_once
        looks = (self.proposals.look, self.communities.look)
        handlers: list[Handler] = [
            SourceEmbedding(self.graph, self.spaces, self.contexts, passages, batch, requests_at_once=many),
            SpaceCleanup(self.graph),
            ConceptEmbedding(
                self.graph,
                self.spaces,
                passages,
                batch,
                merge_near,
                link_near=link_near,
                requests_at_once=many,
            ),
            EdgeEmbedding(self.graph, self.spaces, passages, batch, requests_at_once=many),
            ImageEmbedding(
                self.graph, self.image_spaces, self.images.read_blob, batch, requests_at_once=many
            ),
            ConceptExtraction(self.graph, self.extractors, self.settings.worker.sources_read_a_batch),
            LinkProposal(self.graph, self.settings.proposals),
            CommunityDetection(self.graph, self.settings.communities),
            Backfill(self.graph, entries, self.extraction_requests, self.images.tidy, *looks),
        ]
        if self.settings.sync.scans:
            largest = self.settings.api.max_document_bytes
            ask, access = self.extraction_requests.ask, _folder_access(self.settings)
            handlers.append(FolderSync(self.graph, access, largest, self.reader, ask))
        return handlers

    def close(self) -> None:
        self.augment.close()
        self.search.close()
        if self.reranker is not None:
            self.reranker.close()
        for llm in self.llms:
            llm.close()
        self.extractors.close()
        self.converters.close()
        self.pages.close()
        self.contexts.close()
        self.image_spaces.close()
        self.spaces.close()
        self.graph.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_graph(settings: Settings) -> Graph:
    """Connect to the Neo4j that the settings name, else to the managed one of this home.

    Raises:
        ConfigurationError: there is neither.
    """
    neo4j, most_queued = settings.neo4j, settings.worker.most_queued
    if neo4j.uri is not None and neo4j.password is not None:
        password = neo4j.password.get_secret_value()
        return Graph(
            neo4j.uri,
            neo4j.user,
            password,
            neo4j.database,
            most_queued=most_queued,
            connection_seconds=neo4j.connection_seconds,
        )
    home = Home(settings.home)
    uri, password = home.bolt_uri(), home.password()
    if uri is None or password is None:
        raise ConfigurationError(
            f"there is no Neo4j yet: start the managed one with `kg up` (home {settings.home}), "
            "or set KG_NEO4J__URI and KG_NEO4J__PASSWORD"
        )
    room = disk_room(home, settings)
    return Graph(uri, "neo4j", password, most_queued=most_queued, require_room=room.require)


def open_container(settings: Settings, *, needs_embedder: bool) -> Container:
    """Open everything: connect, migrate the schema, load the model, check the space.

    Args:
        settings: what to open.
        needs_embedder: whether to refuse when the model cannot be loaded (a worker), or to go on with full
            text only and say so in every answer (the service).

    Raises:
        DatabaseUnavailable: Neo4j does not answer.
        SchemaTooNew: a newer kg has written the database.
        ConfigurationError: the model is not the one whose vectors are stored, or settings are wrong.
    """
    reranker, graph = open_reranker(settings), open_graph(settings)
    spaces = SpaceRegistry(graph, partial(open_metered, settings))
    converters = ConverterPool(settings.conversion)
    image_spaces = ImageSpaceRegistry(graph, partial(open_image_embedder, settings), converters.render)
    try:
        applied = migrate(graph)
        if applied:
            log.info("schema migrated", applied=applied)
        required = needs_embedder or settings.embedding.provider != "local"
        open_first_space(spaces, lambda: open_metered(settings, None), required=required)
        register_first_images(image_spaces)
    except BaseException:
        spaces.close()
        graph.close()
        raise
    prices, batch_sizes = partial(price_of_space, settings), partial(batch_size_of_space, settings)
    contexts = Contexts(graph, settings)
    files = StoredFiles(graph, open_blobs(settings.blobs, Home(settings.home).blobs))
    reader = DocumentReader(converters, StoringKeeper(files), settings.blobs.keep_pdfs)
    estimator = Estimator(graph, spaces, contexts, lambda plan: price_of_space(settings, plan.space))
    embeddings = EmbeddingRequests(graph, estimator)
    extractors = Extractors(graph, settings)
    extraction = ExtractionRequests(graph, extractors)
    extracting = ExtractionService(graph, extractors, extraction)
    configure = ConfigurationService(graph, estimator, embeddings)
    llm = LanguageModel(settings)
    imagining = LanguageModel(settings, RetryPolicy(tries=1))  # a search does not wait for a second try
    reranking = Reranking(reranker, settings.rerank.seconds)
    images = ImageService(graph, files)
    search = SearchService(graph, spaces, reranking, Hyde(imagining.ask), image_spaces)
    concepts, relationships = ConceptService(graph, spaces), RelationshipSearcher(graph, spaces)
    return Container(
        settings=settings,
        graph=graph,
        spaces=spaces,
        image_spaces=image_spaces,
        contexts=contexts,
        converters=converters,
        reader=reader,
        pages=PageService(graph, files, ConverterPool(settings.conversion.of_one_process())),
        images=images,
        ingest=IngestService(graph, reader, extraction.ask),
        review=ReviewService(graph, extraction.ask),
        folders=FolderService(graph, _folder_access(settings)),
        search=search,
        hybrid=HybridService(graph, search),
        reranker=reranker,
        similarity=SimilarityService(graph),
        related=RelatedService(graph, image_spaces),
        image_search=ImageSearchService(graph, search, image_spaces, converters, images.read_blob),
        concepts=concepts,
        relationships=relationships,
        relationship_types=RelationshipVocabulary(graph),
        constructive=ConstructiveService(graph, spaces, search, concepts, relationships),
        proposals=ProposalService(graph, ProposalRequests(graph, settings.proposals)),
        communities=CommunityService(graph, settings.communities),
        concept_merges=ConceptMergeRecords(graph),
        augment=AugmentService(graph, spaces, search),
        answer=AnswerService(graph, spaces, search, llm),
        llms=(llm, imagining),
        extractors=extractors,
        extraction=extracting,
        extraction_requests=extraction,
        configure=configure,
        embeddings=embeddings,
        switch=SwitchService(
            graph,
            configure,
            embeddings,
            SpaceChecker(graph, spaces),
            ImageSwitch(graph, embeddings, ImageSpaceChecker(graph, image_spaces)),
        ),
        drop=DropService(graph),
        moving=MovingService(graph, files, configure, extracting, extraction.ask, spaces=spaces),
        models=ModelService(graph, spaces, image_spaces, price_of=prices, batch_size_of=batch_sizes),
    )


def _folder_access(settings: Settings) -> FolderAccess:
    home = Home(settings.home)
    private = (home.path, settings.cache.expanduser().absolute())
    return FolderAccess(settings.sync.allowed, private, home.folder_key)
