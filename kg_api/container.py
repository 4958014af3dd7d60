"""Composition root."""

from __future__ import annotations

from functools import partial
from typing import Self

import structlog

from kg_api.blobs.images import ImageKeeper, StoredFiles
from kg_api.blobs.pages import PageService
from kg_api.blobs.store import open_blobs
from kg_api.concepts.merging import link_embedded
from kg_api.concepts.relations import RelationshipSearcher
from kg_api.concepts.search import ConceptService
from kg_api.convert.isolated.pool import ConverterPool
from kg_api.discovery.communities import CommunityDetection, CommunityService
from kg_api.discovery.constructive import ConstructiveService
from kg_api.discovery.proposals import LinkProposal, ProposalService
from kg_api.errors import ConfigurationError
from kg_api.extraction.llm import ExtractionRequests, Extractors
from kg_api.graph.client import Graph
from kg_api.graph.schema import migrate
from kg_api.ingest.folder_listing import FolderAccess
from kg_api.ingest.folders import FolderService, FolderSync
from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.service import IngestService, ReviewService
from kg_api.jobs.backfill import Backfill
from kg_api.jobs.cleanup import SpaceCleanup
from kg_api.jobs.embedding import EmbeddingJob, ImageModel, SourceEmbedding, SpaceModel
from kg_api.jobs.extraction import ConceptExtraction
from kg_api.jobs.runner import Handler
from kg_api.local.neo4j import build_disk_room
from kg_api.local.processes import Home
from kg_api.providers.embedding import open_metered
from kg_api.providers.extras import require_extras
from kg_api.providers.image_embedding import open_image_embedder
from kg_api.providers.openai_chat import Chat
from kg_api.providers.rerank import Reranker, open_reranker
from kg_api.providers.retrying import RetryPolicy
from kg_api.search.answer import AnswerService
from kg_api.search.augment import AugmentService
from kg_api.search.images import ImageSearchService
from kg_api.search.question import Hyde
from kg_api.search.rank import Reranking
from kg_api.search.reading import ReadingService
from kg_api.search.related import RelatedService
from kg_api.search.service import HybridService, SearchService
from kg_api.search.similar import SimilarityService
from kg_api.settings import Settings
from kg_api.spaces.configuration import ConfigurationService, EmbeddingRequests, ExtractionService
from kg_api.spaces.contexts import Contexts
from kg_api.spaces.estimate import Estimator, ModelService
from kg_api.spaces.images import ImageSpaceRegistry
from kg_api.spaces.registry import (
    MAX_IMAGE_BATCH,
    CachedPassages,
    SpaceRegistry,
    get_space_batch_size,
    get_space_price,
    open_first_space,
    register_first_images,
)
from kg_api.spaces.snapshot import forget_snapshots, share_snapshots
from kg_api.spaces.switch import SwitchService
from kg_api.transfer.importing import TransferService

log = structlog.get_logger()


class Container:
    """Parts of a running kg. Each process opens one container."""

    def __init__(
        self,
        settings: Settings,
        graph: Graph,
        spaces: SpaceRegistry,
        image_spaces: ImageSpaceRegistry,
        *,
        converters: ConverterPool,
        reranker: Reranker | None,
    ) -> None:
        self.settings, self.graph, self.converters, self.reranker = settings, graph, converters, reranker
        self.spaces, self.image_spaces = spaces, image_spaces
        self.contexts = Contexts(graph, settings)
        self.files = files = StoredFiles(graph, open_blobs(settings.blobs, Home(settings.home).blobs))
        self.reader = DocumentReader(converters, ImageKeeper(files), settings.blobs.keep_pdfs)
        self.pages = PageService(graph, files, ConverterPool(settings.conversion.limit_to_one_process()))

        estimator = Estimator(
            graph, spaces, self.contexts, lambda plan: get_space_price(settings, plan.space)
        )
        self.embeddings = EmbeddingRequests(graph, estimator)
        self.configure = ConfigurationService(graph, estimator, self.embeddings)
        self.extractors = Extractors(graph, settings)
        self.extraction_requests = ExtractionRequests(graph, self.extractors)
        self.extraction = ExtractionService(graph, self.extractors, self.extraction_requests)
        self.switch = SwitchService(graph, self.configure, self.embeddings, spaces, image_spaces)
        self.models = ModelService(
            graph,
            spaces,
            image_spaces,
            price_of=partial(get_space_price, settings),
            batch_size_of=partial(get_space_batch_size, settings),
        )

        ask = self.extraction_requests.request
        self.ingest = IngestService(graph, self.reader, ask)
        self.review = ReviewService(graph, ask)
        self.folders = FolderService(graph, _open_folder_access(settings))
        self.transfer = TransferService(graph, files, self.configure, self.extraction, ask, spaces=spaces)

        llm = Chat(settings)
        imagining = Chat(settings, RetryPolicy(tries=1))  # a search makes no second attempt
        self.llms = (llm, imagining)
        reranking = Reranking(reranker, settings.rerank.seconds)
        self.search = SearchService(graph, spaces, reranking, Hyde(imagining.ask), image_spaces)
        self.hybrid = HybridService(graph, self.search)
        self.reading = ReadingService(graph, spaces)
        self.similarity = SimilarityService(graph)
        self.related = RelatedService(graph, image_spaces)
        self.image_search = ImageSearchService(graph, self.search, image_spaces, converters, self.files.read)
        self.concepts, self.relationships = ConceptService(graph, spaces), RelationshipSearcher(graph, spaces)
        self.constructive = ConstructiveService(graph, spaces, self.search, self.concepts, self.relationships)
        self.proposals = ProposalService(graph, settings.proposals)
        self.communities = CommunityService(graph, settings.communities)
        self.augment = AugmentService(graph, spaces, self.search)
        self.answer = AnswerService(graph, spaces, self.search, llm)

    def handlers(self) -> list[Handler]:
        entries = self.settings.embedding.cache_entries
        passages = CachedPassages(self.graph, keeps=entries > 0)
        batch, many = self.settings.worker.sources_a_batch, self.settings.embedding.requests_at_once
        texts = partial(SpaceModel, self.spaces, passages, many)
        images = partial(ImageModel, self.image_spaces, self.files.read, many)
        looks = (self.proposals.start_pending_searches, self.communities.start_pending_detections)
        handlers: list[Handler] = [
            SourceEmbedding(self.graph, self.contexts, texts, batch),
            SpaceCleanup(self.graph),
            EmbeddingJob(
                self.graph, "concept", texts, batch, partial(link_embedded, self.graph, self.spaces)
            ),
            EmbeddingJob(self.graph, "edge", texts, batch),
            EmbeddingJob(self.graph, "image", images, min(batch, MAX_IMAGE_BATCH)),
            ConceptExtraction(self.graph, self.extractors, self.settings.worker.sources_read_a_batch),
            LinkProposal(self.graph, self.settings.proposals),
            CommunityDetection(self.graph, self.settings.communities),
            Backfill(self.graph, entries, self.extraction_requests, self.files.delete_unused, *looks),
        ]
        if self.settings.sync.scans:
            largest = self.settings.api.max_document_bytes
            ask, access = self.extraction_requests.request, _open_folder_access(self.settings)
            handlers.append(FolderSync(self.graph, access, largest, self.reader, ask))
        return handlers

    def close(self) -> None:
        models = (*([self.reranker] if self.reranker else []), *self.llms, self.extractors)
        parts = (self.converters, self.pages, self.contexts, self.image_spaces, self.spaces)
        for each in (self.augment, self.search, *models, *parts):
            each.close()
        forget_snapshots(self.graph)
        self.graph.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_graph(settings: Settings) -> Graph:
    """Connect to the configured or the managed Neo4j. Raise ConfigurationError without either."""
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
    uri, password = home.build_bolt_uri(), home.read_password()
    if uri is None or password is None:
        raise ConfigurationError(
            f"no Neo4j found. Start the managed Neo4j with `kg up` (home {settings.home}), or set "
            "KG_NEO4J__URI and KG_NEO4J__PASSWORD"
        )
    room = build_disk_room(home, settings)
    return Graph(uri, "neo4j", password, most_queued=most_queued, require_room=room.require)


def open_container(settings: Settings, *, needs_embedder: bool) -> Container:
    """Connect, migrate the schema, load the model, and check the space.

    Without `needs_embedder`, a missing model is not an error. Searches then use full text and report it.
    """
    require_extras(settings)
    graph = open_graph(settings)
    share_snapshots(graph)
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
        reranker = open_reranker(settings)
    except BaseException:
        spaces.close()
        forget_snapshots(graph)
        graph.close()
        raise
    return Container(settings, graph, spaces, image_spaces, converters=converters, reranker=reranker)


def _open_folder_access(settings: Settings) -> FolderAccess:
    home = Home(settings.home)
    private = (home.path, settings.cache.expanduser().absolute())
    return FolderAccess(settings.sync.allowed, private, home.read_folder_key)
