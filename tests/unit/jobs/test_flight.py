from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed, EmbeddingUnavailable, LeaseLost
from kg_api.graph.client import Transaction
from kg_api.graph.jobs import ClaimedJob, Owner
from kg_api.graph.spaces import Space
from kg_api.jobs.embedding import (
    MAX_REJECTED,
    EmbeddingPass,
    EmbeddingTarget,
    SpaceModel,
    convert_rejected_texts,
)
from kg_api.jobs.runner import JobRun, Stopped, Yielded
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import RejectedTexts
from kg_api.providers.retrying import RejectedText
from kg_api.spaces.registry import CachedPassages, SpaceRegistry
from tests.support.running import wait_until
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

    def read_due(self, after: str, limit: int) -> list[Picture]:
        due = [each for each in self._album if each.vector is None and each.refused is None]
        return [each for each in due if each.place > after][:limit]

    def count(self) -> int:
        return len(self.read_due("", len(self._album)))

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

    def get_open(self, space: Space) -> Model:
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
    opened = SpaceModel(spaces, passages, requests_at_once, model.space, fresh=False)
    return PictureTarget(album, opened)


AT_ONCE = 3
SIZE = 4
PATIENCE = 10.0


@dataclass
class Gates:
    """Model that blocks batches until you let them continue."""

    held: dict[str, threading.Event] = field(default_factory=dict[str, threading.Event])
    begun: list[str] = field(default_factory=list[str])

    def hold(self, *captions: str) -> None:
        self.held |= {each: threading.Event() for each in captions}

    def go(self, caption: str) -> None:
        self.held[caption].set()

    def __call__(self, texts: Sequence[str]) -> None:
        self.begun.append(texts[0])
        if texts[0] in self.held:
            assert self.held[texts[0]].wait(PATIENCE)


@dataclass
class Flying:
    captions: Sequence[str]
    before: Callable[[Sequence[str]], object]
    job: Job = field(default_factory=Job)

    def __post_init__(self) -> None:
        self.album = album(*self.captions)
        self.model = Model(elsewhere=True, before=self.before)
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._fly, daemon=True)
        self._thread.start()

    def _fly(self) -> None:
        over = EmbeddingPass[Picture, Vectors](self.job.run, SIZE, lambda: True)
        try:
            over.embed_target(pictures(self.album, self.model, AT_ONCE))
        except BaseException as error:  # noqa: BLE001 - it is looked at
            self.error = error

    def end(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    @property
    def written(self) -> str:
        return "".join(each.caption for each in self.album if each.vector is not None)

    @property
    def cursors(self) -> list[str]:
        return self.job.told("after")


until = partial(wait_until, seconds=PATIENCE)


def fly(captions: str = "abcdefghijklmnopqrstuvwxyz") -> tuple[Gates, Flying]:
    """Start a pass that waits for its first three batches."""
    gates = Gates()
    gates.hold("a", "e", "i")
    flying = Flying(captions, gates)
    until(lambda: len(gates.begun) == AT_ONCE)
    return gates, flying


def test_concurrent_batches_are_bounded_and_written_in_order() -> None:
    gates, flying = fly("abcdefghijklmnopqr")
    gates.go("i")
    gates.go("e")
    until(lambda: "q" in gates.begun)
    assert sorted(gates.begun) == ["a", "e", "i", "m", "q"], "others go on while the first is waited for"
    assert flying.written == ""
    gates.go("a")
    flying.end()
    assert flying.error is None
    assert flying.cursors == ["pictures:p03", "pictures:p07", "pictures:p11", "pictures:p15", "pictures:p17"]
    assert flying.written == "abcdefghijklmnopqr"


def failing(caption: str, gates: Gates) -> Callable[[Sequence[str]], None]:
    def before(texts: Sequence[str]) -> None:
        gates(texts)
        if texts[0] == caption:
            raise EmbeddingUnavailable("503", retry_after_seconds=7)

    return before


@pytest.mark.parametrize("together", [False, True])
def test_failed_batch_ends_pass_and_is_repeated(monkeypatch: pytest.MonkeyPatch, *, together: bool) -> None:
    monkeypatch.setattr(PictureTarget, "is_written_together", together)
    gates = Gates()
    gates.hold("a", "m")
    flying = Flying("abcdefghijklmnopqrstuvwxyz", failing("i", gates))
    until(lambda: "i" in gates.begun)
    gates.go("a")
    gates.go("m")
    flying.end()
    assert isinstance(flying.error, EmbeddingUnavailable)
    assert flying.error.retry_after_seconds == 7
    assert flying.written == "abcdefgh", "what stands before it is kept, nothing behind it is written"
    assert flying.cursors[-1] == "pictures:p07"
    go_over(flying.album, Job(flying.cursors[-1]), Model(elsewhere=True))
    assert flying.written == "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("together", [False, True])
def test_rejected_text_is_skipped_and_order_kept(monkeypatch: pytest.MonkeyPatch, *, together: bool) -> None:
    monkeypatch.setattr(PictureTarget, "is_written_together", together)
    captions = [*"abcde", "poison", *"ghijkl"]
    flying = Flying(captions, Gates())
    flying.end()
    assert flying.error is None
    assert [each.identity for each in flying.album if each.refused] == ["p05"]
    assert all(each.vector is not None for each in flying.album if not each.refused)
    assert (sum(flying.job.told("done")), sum(flying.job.told("set_aside"))) == (12, 1)


def test_lost_lease_ends_pass_without_further_writes() -> None:
    gates, flying = fly()
    flying.job.lost.set()
    flying.end()
    assert isinstance(flying.error, LeaseLost)
    for caption in "aei":
        gates.go(caption)
    time.sleep(0.1)
    assert (flying.written, flying.cursors, len(gates.begun)) == ("", [], AT_ONCE)


def test_stop_writes_running_batches_and_starts_none() -> None:
    gates, flying = fly()
    flying.job.stopping.set()
    for caption in "aei":
        gates.go(caption)
    flying.end()
    assert isinstance(flying.error, Stopped)
    assert flying.written == "abcdefghijkl"
    assert len(gates.begun) == AT_ONCE


def test_pass_yields_after_running_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = iter([True, True])

    def checkpoint(_: JobRun) -> None:
        if not next(turns, False):
            raise Yielded

    monkeypatch.setattr(JobRun, "checkpoint", checkpoint)
    gates = Gates()
    gates.hold("a")
    flying = Flying("abcdefghijkl", gates)
    until(lambda: len(gates.begun) == 2)
    gates.go("a")
    flying.end()
    assert isinstance(flying.error, Yielded)
    assert flying.written == "abcdefgh"


def test_with_cache_embedding_overlaps_writing() -> None:
    gates = Gates()
    all_of_them = album(*"abcdefgh")
    model = Model(before=gates)
    target = pictures(all_of_them, model, 8)
    target.model.remembers = True
    write = target.write

    def write_late(tx: Transaction, batch: Vectors) -> int:
        until(lambda: "e" in gates.begun)  # fails if that waits for this
        return write(tx, batch)

    target.write = write_late
    EmbeddingPass[Picture, Vectors](Job().run, SIZE, lambda: True).embed_target(target)
    assert gates.begun == ["a", "e"]
    assert all(each.vector is not None for each in all_of_them)


def go_over(album: list[Picture], job: Job, model: Model) -> EmbeddingPass[Picture, Vectors]:
    made = EmbeddingPass[Picture, Vectors](job.run, 4, lambda: True)
    made.embed_target(pictures(album, model))
    return made


@pytest.mark.parametrize(
    ("cursor", "embedded"), [("pictures:p03", 2), ("sources:p03", 6), ("divided", 6), ("", 6)]
)
def test_resumed_job_continues_at_its_cursor(cursor: str, embedded: int) -> None:
    assert go_over(album(*"abcdef"), Job(cursor), Model()).written == embedded


def test_rejected_text_is_found_by_halving() -> None:
    all_of_them, job, model = album("a", "b", "poison", "d", "e"), Job(), Model()
    made = go_over(all_of_them, job, model)
    assert [each.refused for each in all_of_them] == [None, None, "400: poison", None, None]
    assert [each.vector is None for each in all_of_them] == [False, False, True, False, False]
    assert model.asked == [4, 2, 2, 1, 1, 1]
    assert (made.written, sum(job.told("done")), sum(job.told("set_aside"))) == (5, 5, 1)


class Naming(Model):
    """Model that rejects some captions and returns which ones."""

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if named := {text: f"400: {text}" for text in texts if "poison" in text}:
            self.asked.append(len(texts))
            raise RejectedTexts(named)
        return super().embed_passages(texts)


def test_named_rejected_texts_need_no_halving() -> None:
    all_of_them, job, model = album("a", "poison", "b", "poison two", "e"), Job(), Naming()
    made = go_over(all_of_them, job, model)
    assert [each.refused for each in all_of_them] == [None, "400: poison", None, "400: poison two", None]
    assert model.asked == [4, 2, 1]
    assert (made.written, sum(job.told("set_aside"))) == (5, 2)


def test_a_model_that_takes_nothing_sets_nothing_aside() -> None:
    all_of_them = album(*["poison"] * (MAX_REJECTED + 5))
    job = Job()
    with pytest.raises(RejectedText, match="400: poison"):
        go_over(all_of_them, job, Model())
    assert all(each.refused is None for each in all_of_them)
    assert job.told("after") == []


def test_texts_are_skipped_only_with_working_model() -> None:
    few = album("poison", "poison")
    with pytest.raises(EmbeddingUnavailable):
        go_over(few, Job(), Model(ill=True))
    assert all(each.refused is None for each in few)
    assert go_over(few, Job(), Model()).written == 2
    assert all(each.refused for each in few)


def test_pass_ends_if_its_configuration_changes() -> None:
    job, model, current = Job(), Model(), iter([True, False])
    EmbeddingPass[Picture, Vectors](job.run, 4, lambda: next(current)).embed_target(
        pictures(album(*"abcdefgh"), model)
    )
    assert model.asked == [4]


def test_cached_vectors_are_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PictureTarget, "is_written_together", True)
    gates = Gates()
    gates.hold("a")
    flying = Flying("abcdefghijklmnopqr", gates)
    until(lambda: "q" in gates.begun)
    time.sleep(0.1)  # until it is embedded, too
    gates.go("a")
    flying.end()
    assert flying.error is None
    assert flying.cursors == ["pictures:p17"], "one transaction moves the cursor behind all that it wrote"
    assert flying.job.told("done") == [18]
    assert flying.written == "abcdefghijklmnopqr"
