"""A picture model in a folder of one's own: CLIP, SigLIP, nomic vision and their like, as ONNX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.image.local.preprocessing import read_preprocessing
from kg_api.embed.image.local.profile import PROFILE, ImageModelProfile, read_profile
from kg_api.embed.image.local.towers import PictureTower, TextTower
from kg_api.embed.image.pixels import require_rendered
from kg_api.embed.image.port import Pixels, Rendering
from kg_api.embed.image.probe import probe_picture
from kg_api.embed.port import Vectors
from kg_api.embed.text.spans import cut
from kg_api.embed.text.tokens import query_pieces
from kg_api.embed.vectors import require_text, unit
from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput
from kg_api.machine import cores
from kg_api.models.embedding.spaces import ImageModelChoice, SpaceIdentity
from kg_api.settings import Settings

_NAME = re.compile(r"[\w-][\w.-]{0,199}")
_BATCH = 16


class OnnxImageEmbedder:
    """A model on this machine's processor.

    Vectors are bit-stable on one machine: one picture or text a call, and one ONNX thread for each. Not for
    use in a child made by `fork`.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """Load the model, and try it once.

        Args:
            folder: whose name is the model's, with what it describes.
            threads: so many pictures are embedded at once; unset: one per core.

        Raises:
            ConfigurationError: the folder does not hold what it describes, or that cannot be used.
        """
        profile = read_profile(folder)
        preprocessing = read_preprocessing(folder / profile.preprocessor)
        self._rendering = preprocessing.rendering
        self._picture = PictureTower(folder, profile.picture, preprocessing, profile.dimensions)
        self._text = TextTower(folder, profile.text, profile.dimensions) if profile.text else None
        self._identity = _identity(folder.name, profile)
        self._pool = ThreadPoolExecutor(threads or cores(), thread_name_prefix="embed-image")
        self._try(folder)

    @property
    def identity(self) -> SpaceIdentity:
        """The folder's name, and the checksum of all that it describes."""
        return self._identity

    @property
    def rendering(self) -> Rendering:
        """As its preprocessor_config.json says."""
        return self._rendering

    @property
    def reads_text(self) -> bool:
        """Whether there is a text tower."""
        return self._text is not None

    @property
    def batch_size(self) -> int:
        return _BATCH

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        require_rendered(images, self._rendering)
        vectors = np.empty((len(images), self._identity.dimensions), dtype=np.float32)
        for i, vector in enumerate(self._pool.map(self._picture.vector, images)):
            vectors[i] = vector
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See `ImageEmbedder`; in the caller's thread, so that it never waits for pictures."""
        require_text(text)
        if self._text is None:
            raise ConfigurationError(
                f"the picture model {self._identity.model} (onnx) reads no text: {PROFILE} in its folder "
                "describes no text tower"
            )
        tower, prefix = self._text, self._identity.query_prefix
        pieces = query_pieces(text, cut(text, tower.measure(prefix)))
        rows = np.stack([tower.vector(prefix + piece) for piece in pieces])
        return rows[0] if len(rows) == 1 else unit(rows.mean(axis=0, dtype=np.float64), rows.shape[1])

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _try(self, folder: Path) -> None:
        try:
            self._picture.vector(probe_picture(self._rendering))
            if self._text is not None:
                self._text.vector(f"{self._identity.query_prefix}warm up")
        except (EmbeddingFailed, InvalidInput) as error:
            self.close()
            raise ConfigurationError(
                f"{folder} does not hold a model as {PROFILE} describes: {error}"
            ) from error


def open_onnx(settings: Settings, choice: ImageModelChoice) -> OnnxImageEmbedder:
    """Open the model of a folder below KG_IMAGE_EMBEDDING__FOLDER.

    Raises:
        ConfigurationError: there is no such folder, or it does not hold what it describes.
    """
    embedder = OnnxImageEmbedder(_folder(settings, choice.model), settings.embedding.threads)
    found = embedder.identity.dimensions
    if choice.dimensions not in {None, found}:
        embedder.close()
        raise ConfigurationError(
            f"{embedder.identity.model} gives vectors of {found} numbers, not {choice.dimensions}: correct "
            "KG_IMAGE_EMBEDDING__DIMENSIONS or the space's dimensions, or leave them out"
        )
    return embedder


def _folder(settings: Settings, name: str | None) -> Path:
    parent = settings.image_embedding.folder
    if parent is None:
        raise ConfigurationError(
            "KG_IMAGE_EMBEDDING__FOLDER is not set where kg runs: set it to the folder whose subfolders hold "
            "picture models, then `kg down` and `kg up`"
        )
    there = sorted(path.name for path in parent.glob("*/") if (path / PROFILE).is_file())
    if name is None and len(there) == 1:
        return parent / there[0]
    if name in there and _NAME.fullmatch(name):
        return parent / name
    found = f"it has {', '.join(there)}" if there else f"none of its subfolders has a {PROFILE}"
    raise ConfigurationError(
        f"KG_IMAGE_EMBEDDING__MODEL: {parent} has no model {name or 'that is the only one'}; {found}"
    )


def _identity(name: str, profile: ImageModelProfile) -> SpaceIdentity:
    text = profile.text
    return SpaceIdentity(
        provider="onnx",
        model=name,
        revision=profile.revision,
        dimensions=profile.dimensions,
        max_tokens=text.max_tokens if text else 0,
        query_prefix=text.query_prefix if text else "",
        modality="image",
    )
