from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kg_api.errors import OtherModel
from kg_api.graph.client import Row
from kg_api.graph.spaces import Layout, SpaceUse, StoredConfiguration
from kg_api.schemas.spaces import SECOND_SLOT
from kg_api.schemas.vocabulary import Modality
from kg_api.spaces import open_spaces
from kg_api.spaces.open_spaces import LABELS_ASKED, LABELS_NEEDED, PROBE_TEXT
from tests.support.behaviours import Hang, Status
from tests.support.running import wait_until
from tests.unit.search.canned import CannedGraph
from tests.unit.spaces.conftest import Opened


def test_first_query_includes_the_probe(opened: Opened) -> None:
    for text in ("foxes", "dens", "owls"):
        opened.space.embed_query(text)
    assert opened.sent == [["foxes", PROBE_TEXT], ["dens"], ["owls"]]


def test_later_query_repeats_the_probe(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    opened.space.embed_query("foxes")
    now = open_spaces.time.monotonic()
    monkeypatch.setattr(open_spaces.time, "monotonic", lambda: now + open_spaces.PROVEN_SECONDS + 0.1)
    opened.space.embed_query("foxes")
    assert opened.sent[-1] == ["foxes", PROBE_TEXT]
    assert open_spaces.PROVEN_SECONDS < 60


@pytest.mark.usefixtures("at_once")
def test_vector_of_a_changed_model_is_rejected(opened: Opened) -> None:
    right = opened.space.embed_query("foxes")
    opened.model.turned = True
    for _ in range(2):
        with pytest.raises(OtherModel, match="another model responds for the space 'far'"):
            opened.space.embed_query("foxes")
    assert "another model responds" in (opened.space.trouble() or "")
    opened.model.turned = False
    assert np.array_equal(opened.space.embed_query("foxes"), right)
    # the check that `trouble` began may still report the other model
    wait_until(lambda: opened.space.trouble() is None, 5)


def test_failed_model_is_verified_before_reuse(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_spaces, "OPEN_SECONDS", 0.0)
    opened.space.embed_query("foxes")
    opened.model.always = Status(503)
    with pytest.raises(Exception, match="503"):
        opened.space.embed_query("owls")
    opened.model.always, opened.model.turned = None, True
    with pytest.raises(OtherModel):
        opened.space.embed_query("foxes")


def test_query_in_progress_repeats_after_detected_change(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query had no probe, because the model was verified just before."""
    monkeypatch.setattr(open_spaces, "OPEN_SECONDS", 0.0)
    opened.space.embed_query("foxes")
    inner: Any = opened.space.embedder()
    answers, goes_on = threading.Event(), threading.Event()
    embed = inner.embed_query

    def slow(text: str) -> Any:
        vector = embed(text)
        answers.set()
        goes_on.wait(60)
        return vector

    monkeypatch.setattr(inner, "embed_query", slow)
    opened.model.turned = True
    raised: list[BaseException] = []

    def ask() -> None:
        try:
            opened.space.embed_query("badgers")
        except OtherModel as error:
            raised.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert answers.wait(60)
    with pytest.raises(OtherModel):
        opened.space.check()
    goes_on.set()
    asking.join(60)
    assert len(raised) == 1


@pytest.mark.usefixtures("at_once")
def test_problem_clears_without_a_query(opened: Opened) -> None:
    """/ready requests the problem and verifies the model."""
    opened.model.turned = True
    with pytest.raises(OtherModel):
        opened.space.embed_query("foxes")
    opened.model.turned = False
    waiting = threading.Event()
    for _ in range(600):
        if opened.space.trouble() is None:
            return
        waiting.wait(0.05)
    raise AssertionError(opened.space.trouble())


def test_passages_include_the_passage_probe(opened: Opened) -> None:
    opened.space.embed_passages(["foxes", "badgers"])
    opened.model.turned = True
    with pytest.raises(OtherModel):
        opened.space.embed_passages(["herons"])
    assert opened.sent == [["foxes", "badgers", PROBE_TEXT], ["herons", PROBE_TEXT]]


@pytest.fixture
def with_prefixes(opened: Opened) -> Opened:
    """Return a space with different prefixes, so the probe is not a passage."""
    space = opened.space.space
    opened.space.embedder()
    opened.space.space = replace(space, identity=replace(space.identity, query_prefix="q: "))
    return opened


def test_prefixed_model_is_verified_by_a_query(with_prefixes: Opened) -> None:
    with_prefixes.space.embed_passages(["foxes"])
    with_prefixes.space.embed_passages(["badgers"])
    assert with_prefixes.sent == [["foxes"], [PROBE_TEXT], ["badgers"], [PROBE_TEXT]]


def test_passages_of_changed_prefixed_model_are_rejected(with_prefixes: Opened) -> None:
    """Otherwise, they would be stored and cached under the fingerprint of the verified model."""
    with_prefixes.space.check()
    with_prefixes.model.turned = True
    with pytest.raises(OtherModel):
        with_prefixes.space.embed_passages(["foxes"])


class ConceptGraph(CannedGraph):
    def __init__(self, concepts: int) -> None:
        super().__init__()
        self.concepts = concepts
        self.written: dict[str, Row] = {}

    def spaces_concept_sample(self) -> list[Row]:
        vector = np.ones(64, dtype=np.float32).tolist()
        return [{"label": f"label{n}", "vector": vector} for n in range(self.concepts)]

    def write(self, name: str, space: str = "default", /, **parameters: Any) -> list[Row]:
        self.written[name] = {**parameters, "in": space}
        return []


def look_at_labels(opened: Opened, graph: ConceptGraph) -> None:
    opened.space._graph = graph
    opened.space.calibrate_labels_soon()
    opened.space._asking.submit(int).result(5)


def test_concept_calibration_verifies_the_model(opened: Opened) -> None:
    graph = ConceptGraph(LABELS_NEEDED)
    look_at_labels(opened, graph)
    assert opened.sent == [[*(f"label{n}" for n in range(LABELS_ASKED)), PROBE_TEXT]]
    assert list(graph.written) == ["spaces/remember_labels"]


def test_calibration_of_a_changed_model_is_discarded(opened: Opened) -> None:
    """Earlier versions kept the calibration for a day."""
    opened.space.check()
    opened.model.turned = True
    graph = ConceptGraph(LABELS_NEEDED)
    look_at_labels(opened, graph)
    assert graph.written == {}
    assert "another model responds" in (opened.space.trouble() or "")


@pytest.mark.usefixtures("at_once")
def test_a_model_that_hangs_is_no_other_model(opened: Opened) -> None:
    opened.space.embed_query("foxes")
    opened.model.then(Hang(2.4))
    with pytest.raises(Exception, match="did not respond in time"):
        opened.space.embed_query("foxes")
    opened.space.embed_query("foxes")


OLD, NEW = Layout("old", chunking="{}"), Layout("new", chunking="{}")


def test_space_is_built_while_another_is_active() -> None:
    use = SpaceUse(OLD).built(NEW, answers=True, activates=False)
    assert (use.answering, use.target, use.kept_up, use.activates) == (OLD, NEW, [OLD, NEW], False)
    assert use.activated() == SpaceUse(NEW, previous=OLD)


def test_another_chunking_alternates_between_both_slots() -> None:
    use = SpaceUse(OLD)
    for number, slot in enumerate((SECOND_SLOT, "", SECOND_SLOT)):
        wanted = Layout("old", chunking=str(number))
        use = use.built(wanted, answers=True, activates=True).activated()
        assert use.target == Layout("old", slot, str(number))


def test_rollback_abandons_build_or_restores_previous() -> None:
    built = SpaceUse(OLD).built(NEW, answers=True, activates=False)
    assert built.rolled_back() == SpaceUse(OLD)
    assert built.activated().rolled_back() == SpaceUse(OLD, previous=NEW)
    assert SpaceUse(OLD).rolled_back() is None


@pytest.mark.parametrize("modality", ["text", "image"])
def test_modalities_switch_independently(modality: Modality) -> None:
    configured = StoredConfiguration(SpaceUse(OLD))
    changed = configured.using(modality, SpaceUse(NEW))
    assert changed.of(modality) == SpaceUse(NEW)
    other: Modality = "text" if modality == "image" else "image"
    assert changed.of(other) == configured.of(other)
    assert "new" in changed.kept_up
