from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed, EmbeddingUnavailable
from kg_api.graph.client import Transaction
from kg_api.graph.jobs import ClaimedJob, Owner
from kg_api.graph.spaces import Space
from kg_api.jobs.embedding import EmbeddingTarget, SpaceModel, convert_rejected_texts
from kg_api.jobs.runner import JobRun
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import RejectedTexts
from kg_api.spaces.registry import CachedPassages, SpaceRegistry
from tests.unit.jobs.fakes import FakeGraph

Vectors = list[tuple["Picture", NDArray[np.float32]]]


@dataclass
class Picture:
    identity: str
    caption: str
    vector: NDArray[np.float32] | None = None
    refused: str | None = None

    @property
    def place(self) -> str:
        return self.identity


class PictureTarget(EmbeddingTarget[Picture, Vectors]):
    noun = "picture"
    name = "pictures"

    def __init__(self, album: Sequence[Picture], model: SpaceModel) -> None:
        self.model = self._model = model
        self._album = album

    def due(self, after: str, limit: int) -> list[Picture]:
        due = [each for each in self._album if each.vector is None and each.refused is None]
        return [each for each in due if each.place > after][:limit]

    def count(self) -> int:
        return len(self.due("", len(self._album)))

    def embed(self, items: Sequence[Picture]) -> Vectors:
        try:
            vectors = self._model.embed([each.caption for each in items])
        except RejectedTexts as error:
            raise convert_rejected_texts(error, ((each.identity, each.caption) for each in items)) from error
        return list(zip(items, vectors, strict=True))

    def write(self, tx: Transaction, batch: Vectors) -> int:
        kept = [(picture, vector) for picture, vector in batch if picture.caption != "changed meanwhile"]
        for picture, vector in kept:
            picture.vector = vector
        return len(tx.run("pictures/write", rows=[picture.identity for picture, _ in kept]))

    def reject(self, tx: Transaction, item: Picture, reason: str) -> None:
        tx.run("pictures/refuse", rows=[item.identity])
        item.refused = reason


@dataclass
class Model(DeterministicEmbedder):
    asked: list[int] = field(default_factory=list[int])
    ill: bool = False
    elsewhere: bool = False
    """Whether the model is remote. If it is, requests can run at once."""
    before: Callable[[Sequence[str]], object] = lambda _: None
    """Function to call before each batch, in the thread that embeds it."""

    def __post_init__(self) -> None:
        super().__init__(256)
        identity = replace(self.identity, provider="openai") if self.elsewhere else self.identity
        self.space = Space("default", identity)

    def of(self, space: Space) -> Model:
        assert space.key == self.space.key
        return self

    def ensure_verified(self) -> None: ...

    def check(self) -> None:
        if self.ill:
            raise EmbeddingUnavailable("it answers nonsense")

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(len(texts))
        self.before(texts)
        if any("poison" in text for text in texts):
            raise EmbeddingFailed("400: poison")
        return super().embed_passages(texts)


def answer(name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    match name:
        case "ontologies/configuration":
            return [{"ontology": "notes"}]
        case "spaces/all":
            identity = {**asdict(Model().identity), "slug": "default", "created_at": None}
            return [{"space": identity}]
        case "jobs/finish":
            return [{"owned": True, "finished": True}]
        case _:
            return [{"advanced": True}] * len(given.get("rows", "1"))


@dataclass
class Job:
    cursor: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)
    lost: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.database = FakeGraph(answer)
        claimed = ClaimedJob("j", "picture_embedding", "running", "notes", 1, self.cursor, 0, 0, 0)
        owner = Owner("j", "w", 1, 30.0)
        self.run = JobRun(self.database.graph, claimed, owner, stopping=self.stopping, lost=self.lost)

    def told(self, what: str) -> list[Any]:
        return [parameters[what] for name, parameters in self.database.ran if name == "jobs/advance"]


def album(*captions: str) -> list[Picture]:
    return [Picture(f"p{number:02}", caption) for number, caption in enumerate(captions)]


def pictures(album: Sequence[Picture], model: Model, requests_at_once: int = 1) -> PictureTarget:
    spaces = cast("SpaceRegistry", model)
    passages = CachedPassages(FakeGraph(lambda _, __: []).graph, keeps=False)
    opened = SpaceModel(spaces, model.space, passages, fresh=False, requests_at_once=requests_at_once)
    return PictureTarget(album, opened)
