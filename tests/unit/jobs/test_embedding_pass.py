from __future__ import annotations

import time
from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.errors import EmbeddingUnavailable
from kg_api.jobs.embedding import MAX_REJECTED, EmbeddingJob, EmbeddingPass, TextModels, has_pending
from kg_api.jobs.runner import JobRun
from kg_api.providers.embedding_port import RejectedTexts
from kg_api.providers.retrying import RejectedText
from kg_api.spaces.plans import EmbeddingState
from kg_api.spaces.registry import CachedPassages, SpaceRegistry
from tests.unit.jobs.fakes import FakeGraph
from tests.unit.jobs.pictures import Job, Model, Picture, PictureTarget, Vectors, album, answer, pictures
from tests.unit.jobs.test_flight import Flying, Gates, until


class PictureEmbedding(EmbeddingJob):
    album: Sequence[Picture] = ()
    models: TextModels

    def targets(self, run: JobRun, state: EmbeddingState) -> list[PictureTarget]:
        del run
        return [PictureTarget(self.album, self.models(state.target.space, False))]


def go_over(album: list[Picture], job: Job, model: Model) -> EmbeddingPass[Picture, Vectors]:
    made = EmbeddingPass[Picture, Vectors](job.run, 4, lambda: True)
    made.embed_target(pictures(album, model))
    return made


def test_pass_runs_in_batches_and_keeps_its_cursor() -> None:
    all_of_them, job, model = album(*"abcdefghij"), Job(), Model()
    made = go_over(all_of_them, job, model)
    assert all(each.vector is not None for each in all_of_them)
    assert (made.written, made.passed_over, model.asked) == (10, 0, [4, 4, 2])
    assert job.told("after") == ["pictures:p03", "pictures:p07", "pictures:p09"]
    assert job.told("done") == [4, 4, 2]
    assert not has_pending([pictures(all_of_them, model)])


def test_job_of_another_kind_completes() -> None:
    all_of_them, job, model = album(*"abcdef"), Job(), Model()
    passages = CachedPassages(FakeGraph(answer).graph, keeps=False)
    models = TextModels(cast("SpaceRegistry", model), passages)
    handler = PictureEmbedding(job.database.graph, "concept", models, 4)
    handler.album, handler.models = all_of_them, models
    handler.run(job.run)
    assert all(each.vector is not None for each in all_of_them)
    assert job.database.count("jobs/finish") == 1
    assert [given["left"] for name, given in job.database.ran if name == "jobs/expect"] == [6]


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


def test_text_changed_during_embedding_stays_pending() -> None:
    all_of_them = album("a", "changed meanwhile", "c")
    made = go_over(all_of_them, Job(), Model())
    assert (made.written, made.passed_over) == (2, 1)
    assert has_pending([pictures(all_of_them, Model())])


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
