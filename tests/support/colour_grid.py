import io
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from kg_api.errors import ConfigurationError, EmbeddingUnavailable
from kg_api.graph.client import Graph
from kg_api.providers.embedding_port import Pixels, Rendering, Vectors
from kg_api.providers.pixels import DIMENSIONS
from kg_api.providers.retrying import RejectedText
from kg_api.schemas.spaces import ModelChoice, SpaceIdentity
from kg_api.spaces.images import ImageSpaceRegistry

FIRST_CELLS = 2
COLOURS = {"red": (200, 20, 20), "green": (20, 160, 20), "blue": (20, 40, 200)}


@dataclass
class ColourGrid:
    """Model that uses the mean colours in a grid, and knows some colours by name."""

    cells: int = FIRST_CELLS
    revision: str = "1"
    words: bool = True
    down: bool = False
    down_after: int | None = None
    rejects_dark: bool = False
    asked: list[int] = field(default_factory=list[int])
    batch_size: int = 4

    @property
    def identity(self) -> SpaceIdentity:
        tokens = 16 if self.words else 0
        return SpaceIdentity(
            "histogram", f"grid-{self.cells}", self.revision, self._size, tokens, modality="image"
        )

    @property
    def rendering(self) -> Rendering:
        return Rendering(16, 16, "stretch")

    @property
    def reads_text(self) -> bool:
        return self.words

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        self._require_up()
        self.asked.append(len(images))
        if self.rejects_dark and any(each.mean() < 40 for each in images):
            raise RejectedText("too dark")
        return np.stack([self._vector(each) for each in images])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self._require_up()
        if not self.words:
            raise ConfigurationError("it reads no text")
        colour = next((COLOURS[word] for word in text.lower().split() if word in COLOURS), (128, 128, 128))
        return self._vector(np.full((16, 16, 3), colour, dtype=np.uint8))

    def close(self) -> None: ...

    def _vector(self, pixels: Pixels) -> NDArray[np.float32]:
        size = 16 // self.cells
        cells = pixels.reshape(self.cells, size, self.cells, size, 3).mean(axis=(1, 3)).reshape(-1) + 1
        centred = cells - cells.mean() * 0.5
        vector = (centred / np.linalg.norm(centred)).astype(np.float32)
        return np.pad(vector, (0, self._size - len(vector)))

    @property
    def _size(self) -> int:
        """Return as many numbers as a real model would, so that you can use the index of the first
        space."""
        return DIMENSIONS if self.cells == FIRST_CELLS else 3 * self.cells * self.cells

    def _require_up(self) -> None:
        if self.down or (self.down_after is not None and len(self.asked) >= self.down_after):
            raise EmbeddingUnavailable("the grid is down")


def unpack(content: bytes, rendering: Rendering) -> Pixels:
    with Image.open(io.BytesIO(content)) as picture:
        shown = picture.convert("RGB").resize((rendering.width, rendering.height))
        return np.asarray(shown)


def open_image_spaces(graph: Graph, first: ColourGrid | None = None) -> ImageSpaceRegistry:
    """Register the first image space. To use another space, add the number of cells to the name of the
    model."""
    grid = first or ColourGrid()

    def open_model(choice: ModelChoice | None) -> ColourGrid:
        return grid if choice is None else ColourGrid(int((choice.model or "grid-4").removeprefix("grid-")))

    spaces = ImageSpaceRegistry(graph, open_model, unpack)
    spaces.ensure_first()
    return spaces


def plain(colour: str, width: int = 40, height: int = 30) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (width, height), COLOURS.get(colour, (0, 0, 0))).save(content, "PNG")
    return content.getvalue()
