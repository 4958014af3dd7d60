from contextlib import closing
from functools import partial
from typing import Any

from kg_api.graph.client import Graph
from kg_api.jobs.embedding import EmbeddingJob, ImageModel, ReadBlob
from kg_api.jobs.runner import Handler
from kg_api.schemas.answers import HybridHits, HybridSearch
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.schemas.spaces import NewSpace
from kg_api.search.rank import NO_RERANKING, Reranking
from kg_api.search.service import HybridService, SearchService
from kg_api.spaces.configuration import ConfigurationService, EmbeddingRequests
from kg_api.spaces.contexts import Contexts
from kg_api.spaces.estimate import Estimator, ModelService
from kg_api.spaces.images import ImageSpaceRegistry
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.switch import SwitchService
from tests.support.colour_grid import ColourGrid, unpack
from tests.support.embedding import open_spaces, run_jobs

TEXTS = [f"This is the passage about topic{n}. It goes on for a while about topic{n}." for n in range(12)]


class Kg:
    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry | None = None,
        image_spaces: ImageSpaceRegistry | None = None,
        read_blob: ReadBlob | None = None,
    ) -> None:
        self.graph = graph
        self.image_spaces = image_spaces or ImageSpaceRegistry(graph, lambda _: ColourGrid(), unpack)
        self._read_blob = read_blob
        self.spaces: SpaceRegistry = spaces or open_spaces(graph)
        self.contexts = Contexts(graph)
        estimator = Estimator(graph, self.spaces, self.contexts, lambda _: 0.0)
        self.requests = EmbeddingRequests(graph, estimator)
        self.configure = ConfigurationService(graph, estimator, self.requests)
        self.switch = SwitchService(graph, self.configure, self.requests, self.spaces, self.image_spaces)
        self.models = ModelService(
            graph, self.spaces, self.image_spaces, price_of=lambda _: 0.0, batch_size_of=lambda _: 64
        )

    def work(self) -> None:
        further: list[Handler] = []
        if self._read_blob is not None:
            models = partial(ImageModel, self.image_spaces, self._read_blob, 1)
            further.append(EmbeddingJob(self.graph, "image", models, 4))
        run_jobs(self.graph, spaces=self.spaces, further=further)

    def add(self, slug: str, dimensions: int = 64) -> None:
        self.spaces.add(NewSpace(slug=slug, provider="deterministic", dimensions=dimensions))

    def search(self, text: str = "topic7", **more: Any) -> SourceHits:
        return self.find(text, mode="vector", **more)

    def find(self, text: str, reranking: Reranking = NO_RERANKING, **asked: Any) -> SourceHits:
        """Search with a new service, which has cached nothing."""
        with closing(SearchService(self.graph, self.spaces, reranking)) as service:
            return service.search(SourceSearch.model_validate({"query_text": text, **asked}))

    def find_both(self, text: str, **asked: Any) -> HybridHits:
        """Search concepts and sources."""
        with closing(SearchService(self.graph, self.spaces)) as service:
            request = HybridSearch.model_validate({"query_text": text, **asked})
            return HybridService(self.graph, service).search(request)

    def states(self) -> dict[str, str]:
        return {each.slug: each.state for each in self.models.list_space_infos()}


def first(hits: SourceHits) -> str:
    return hits.sources[0].full_text.strip()


def matched(hits: SourceHits) -> str:
    """Return the part of the first hit that is near to the question."""
    chunk = hits.sources[0].chunk
    assert chunk is not None
    return chunk.text.strip()
