from pathlib import Path

from kg_api.graph.client import Graph
from kg_api.graph.targets import count_embedded
from kg_api.schemas.documents import VectorCounts
from kg_api.schemas.spaces import NewSpace
from kg_api.spaces.plans import read_embedding_state
from tests.support.colour_grid import ColourGrid, open_image_spaces, plain
from tests.support.kg import Kg
from tests.support.picture_store import Pictures

FIRST = "default_images"


class Album(Kg):
    def __init__(self, graph: Graph, folder: Path, *, words: bool = True) -> None:
        self.pictures, self.grid = Pictures(graph, folder), ColourGrid(words=words)
        images = open_image_spaces(graph, self.grid)
        super().__init__(graph, image_spaces=images, read_blob=self.pictures.read)

    def close(self) -> None:
        self.spaces.close()
        self.image_spaces.close()

    def add_images(self, *colours: str) -> None:
        for colour in colours:
            self.pictures.add(plain(colour), f"{colour}.png")

    def counts(self) -> VectorCounts:
        plans = read_embedding_state(self.graph, "notes").images[-1:]
        return VectorCounts.model_validate(count_embedded(self.graph, "image", plans))

    @property
    def answering(self) -> str:
        return read_embedding_state(self.graph, "notes").images[0].space.slug

    def add_space(self, slug: str, cells: int = 4) -> None:
        new = NewSpace(slug=slug, modality="image", provider="histogram", model=f"grid-{cells}")
        self.image_spaces.add(new)
