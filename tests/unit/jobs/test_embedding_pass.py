"""One pass embeds whatever is a target: here pictures, a kind that the product does not have."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.embed.deterministic import DeterministicEmbedder
from kg_api.errors import EmbeddingFailed, EmbeddingUnavailable
from kg_api.graph.database import Transaction
from kg_api.graph.jobs import ClaimedJob, Owner
from kg_api.graph.spaces.registry import Space
from kg_api.jobs.embedding.job import EmbeddingJob
from kg_api.jobs.embedding.model import SpaceModel
from kg_api.jobs.embedding.passes import MAX_REJECTED, EmbeddingPass, left
from kg_api.jobs.embedding.target import EmbeddingTarget
from kg_api.jobs.run import JobRun, Stopped
from kg_api.provider.service import RejectedText
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.plans import EmbeddingState
from kg_api.spaces.registry import SpaceRegistry
from tests.unit.jobs.fakes import FakeGraph

Vectors = list[tuple["Picture", NDArray[np.float32]]]


@dataclass
class Picture:
    """A picture that is embedded by its caption."""

    identity: str
    caption: str
    vector: NDArray[np.float32] | None = None
    refused: str | None = None

    @property
    def place(self) -> str:
        """Pictures are gone through in the order of their ids."""
        return self.identity


class PictureTarget(EmbeddingTarget[Picture, Vectors]):
    """All that a further kind costs, but for its statements."""

    noun = "picture"
    name = "pictures"

    def __init__(self, album: Sequence[Picture], model: SpaceModel) -> None:
        self.model = model
        self._album = album

    def due(self, after: str, limit: int) -> list[Picture]:
        """The next pictures without a vector."""
        due = [each for each in self._album if each.vector is None and each.refused is None]
        return [each for each in due if each.place > after][:limit]

    def count(self) -> int:
        """How many."""
        return len(self.due("", len(self._album)))

    def embed(self, items: Sequence[Picture]) -> Vectors:
        """Embed captions."""
        vectors = self.model.embed([each.caption for each in items])
        return list(zip(items, vectors, strict=True))

    def write(self, tx: Transaction, batch: Vectors) -> int:
        """Write what is still wanted."""
        kept = [(picture, vector) for picture, vector in batch if picture.caption != "changed meanwhile"]
        for picture, vector in kept:
            picture.vector = vector
        return len(tx.run("pictures/write", rows=[picture.identity for picture, _ in kept]))

    def reject(self, tx: Transaction, item: Picture, reason: str) -> None:
        """Set one aside."""
        tx.run("pictures/refuse", rows=[item.identity])
        item.refused = reason


class PictureEmbedding(EmbeddingJob[Picture, Vectors]):
    """Handles jobs of kind `picture_embedding`."""

    kind = "picture_embedding"
    album: Sequence[Picture] = ()

    def targets(self, run: JobRun, embedding_state: EmbeddingState) -> list[PictureTarget]:
        """The pictures of the space that is being built."""
        return [PictureTarget(self.album, self._model(run, embedding_state.target.space))]


@dataclass
class Model(DeterministicEmbedder):
    """A space whose model does not take poison."""

    asked: list[int] = field(default_factory=list[int])
    ill: bool = False

    def __post_init__(self) -> None:
        super().__init__(256)
        self.space = Space("default", self.identity)

    def of(self, space: Space) -> Model:
        assert space.key == self.space.key
        return self

    def assure(self) -> None: ...

    def check(self) -> None:
        if self.ill:
            raise EmbeddingUnavailable("it answers nonsense")

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(len(texts))
        if any("poison" in text for text in texts):
            raise EmbeddingFailed("400: poison")
        return super().embed_passages(texts)


def answer(name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    """What a database says that agrees to everything."""
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
    """A job's run."""

    cursor: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.database = FakeGraph(answer)
        claimed = ClaimedJob("j", "picture_embedding", "running", "notes", 1, self.cursor, 0, 0, 0)
        owner = Owner("j", "w", 1, 30.0)
        self.run = JobRun(self.database.graph, claimed, owner, stopping=self.stopping, lost=threading.Event())

    def told(self, what: str) -> list[Any]:
        """What was said of each batch."""
        return [parameters[what] for name, parameters in self.database.ran if name == "jobs/advance"]


def album(*captions: str) -> list[Picture]:
    return [Picture(f"p{number:02}", caption) for number, caption in enumerate(captions)]


def pictures(album: list[Picture], model: Model) -> PictureTarget:
    spaces = cast("SpaceRegistry", model)
    passages = CachedPassages(FakeGraph(lambda _, __: []).graph, keeps=False)
    return PictureTarget(album, SpaceModel(spaces, model.space, passages, fresh=False))


def go_over(album: list[Picture], job: Job, model: Model) -> EmbeddingPass[Picture, Vectors]:
    made = EmbeddingPass[Picture, Vectors](job.run, 4, lambda: True)
    made.through(pictures(album, model))
    return made


def test_it_goes_batch_by_batch_and_keeps_its_place() -> None:
    all_of_them, job, model = album(*"abcdefghij"), Job(), Model()
    made = go_over(all_of_them, job, model)
    assert all(each.vector is not None for each in all_of_them)
    assert (made.written, made.passed_over, model.asked) == (10, 0, [4, 4, 2])
    assert job.told("after") == ["pictures:p03", "pictures:p07", "pictures:p09"]
    assert job.told("done") == [4, 4, 2]
    assert not left([pictures(all_of_them, model)])


def test_a_job_of_a_further_kind_runs_to_its_end() -> None:
    all_of_them, job, model = album(*"abcdef"), Job(), Model()
    passages = CachedPassages(FakeGraph(answer).graph, keeps=False)
    handler = PictureEmbedding(job.database.graph, cast("SpaceRegistry", model), passages, 4)
    handler.album = all_of_them
    handler.run(job.run)
    assert all(each.vector is not None for each in all_of_them)
    assert job.database.count("jobs/finish") == 1
    assert [given["left"] for name, given in job.database.ran if name == "jobs/expect"] == [6]


@pytest.mark.parametrize(
    ("cursor", "embedded"), [("pictures:p03", 2), ("sources:p03", 6), ("divided", 6), ("", 6)]
)
def test_a_resumed_job_goes_on_where_it_was(cursor: str, embedded: int) -> None:
    assert go_over(album(*"abcdef"), Job(cursor), Model()).written == embedded


def test_a_refused_one_is_found_by_halving_and_set_aside() -> None:
    all_of_them, job, model = album("a", "b", "poison", "d", "e"), Job(), Model()
    made = go_over(all_of_them, job, model)
    assert [each.refused for each in all_of_them] == [None, None, "400: poison", None, None]
    assert [each.vector is None for each in all_of_them] == [False, False, True, False, False]
    assert model.asked == [4, 2, 2, 1, 1, 1]
    assert (made.written, sum(job.told("done")), sum(job.told("set_aside"))) == (5, 5, 1)


def test_a_model_that_takes_nothing_sets_nothing_aside() -> None:
    all_of_them = album(*["poison"] * (MAX_REJECTED + 5))
    job = Job()
    with pytest.raises(RejectedText, match="400: poison"):
        go_over(all_of_them, job, Model())
    assert all(each.refused is None for each in all_of_them)
    assert job.told("after") == []


def test_few_are_set_aside_only_by_a_model_that_is_well() -> None:
    few = album("poison", "poison")
    with pytest.raises(EmbeddingUnavailable):
        go_over(few, Job(), Model(ill=True))
    assert all(each.refused is None for each in few)
    assert go_over(few, Job(), Model()).written == 2
    assert all(each.refused for each in few)


def test_what_changed_meanwhile_is_passed_over_and_stays_due() -> None:
    all_of_them = album("a", "changed meanwhile", "c")
    made = go_over(all_of_them, Job(), Model())
    assert (made.written, made.passed_over) == (2, 1)
    assert left([pictures(all_of_them, Model())])


def test_it_stops_between_batches() -> None:
    job, model = Job(), Model()
    job.stopping.set()
    with pytest.raises(Stopped):
        go_over(album("a"), job, model)
    assert model.asked == []


def test_it_ends_when_what_it_began_with_has_changed() -> None:
    job, model, current = Job(), Model(), iter([True, False])
    EmbeddingPass[Picture, Vectors](job.run, 4, lambda: next(current)).through(
        pictures(album(*"abcdefgh"), model)
    )
    assert model.asked == [4]
