import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from kg_api.errors import EmbeddingUnavailable, OtherModel
from kg_api.graph.client import Row
from kg_api.graph.spaces import Layout, Space, SpaceUse
from kg_api.metrics import Meters
from kg_api.providers.embedding import MeteredEmbedder
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.spaces import SECOND_SLOT, ModelChoice, SimilarityCalibration
from kg_api.settings import load_settings
from kg_api.spaces import open_spaces
from kg_api.spaces.open_spaces import LABELS_ASKED, LABELS_NEEDED, PROBE_TEXT, OpenSpace
from kg_api.spaces.registry import ModelTokenCounter, build_space_token_counter, is_paid
from tests.process.providers.provider import Model, Provider
from tests.support.behaviours import Hang, Status
from tests.support.embedders import small_embedder
from tests.support.providers import Asking
from tests.support.running import wait_until
from tests.unit.search.canned import CannedGraph
from tests.unit.search.found import SPACE

NAME = "text-embedding-3-small"
CHOICE = ModelChoice("openai", NAME, 64)


@dataclass
class Opened:
    space: OpenSpace
    model: Model
    registry: CollectorRegistry

    @property
    def sent(self) -> list[list[str]]:
        return [each.body["input"] for each in self.model.requests]

    def counted(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(name, {"model": NAME, **labels}) or 0


@pytest.fixture
def opened() -> Iterator[Opened]:
    registry = CollectorRegistry()
    with Provider() as provider, Asking("openai", provider, CHOICE, timeout=10, query_seconds=2) as asking:
        embedder: Embedder = MeteredEmbedder(asking.embedder, Meters(registry))
        probe = asking.embedder.embed_query(PROBE_TEXT)
        provider.requests.clear()
        space = Space("far", embedder.identity, probe, calibration=SimilarityCalibration(0.8, 0.1))
        found = OpenSpace(CannedGraph(), space, lambda: embedder)
        yield Opened(found, provider.model(NAME), registry)
        found.close()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_spaces, "PROVEN_SECONDS", -1.0)
    monkeypatch.setattr(open_spaces, "OPEN_SECONDS", 0.0)


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
    assert "another model responds" in (opened.space.get_last_failure() or "")
    opened.model.turned = False
    assert np.array_equal(opened.space.embed_query("foxes"), right)
    # the check that `get_last_failure` began may still report the other model
    wait_until(lambda: opened.space.get_last_failure() is None, 5)


def test_unusable_model_is_not_opened_again_at_once(opened: Opened) -> None:
    tries: list[str] = []

    def fail() -> Embedder:
        tries.append("open")
        raise EmbeddingUnavailable("the package is damaged")

    space = OpenSpace(CannedGraph(), opened.space.space, fail)
    assert [space.find_problem(), space.find_problem(), space.get_last_failure()] == [
        "the package is damaged"
    ] * 3
    assert tries == ["open"]


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
    inner: Any = opened.space.get_embedder()
    answers, goes_on = threading.Event(), threading.Event()
    embed = inner.embed_query

    def slow(text: str) -> Any:
        vector = embed(text)
        answers.set()
        goes_on.wait(60)
        return vector

    monkeypatch.setattr(inner, "embed_query", slow)
    opened.model.turned = True
    with ThreadPoolExecutor(1) as other:
        asking = other.submit(opened.space.embed_query, "badgers")
        assert answers.wait(60)
        with pytest.raises(OtherModel):
            opened.space.check()
        goes_on.set()
        with pytest.raises(OtherModel):
            asking.result(60)


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
    opened.space.get_embedder()
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
    assert "another model responds" in (opened.space.get_last_failure() or "")


@pytest.mark.usefixtures("at_once")
def test_a_model_that_hangs_is_no_other_model(opened: Opened) -> None:
    opened.space.embed_query("foxes")
    opened.model.then(Hang(2.4))
    with pytest.raises(Exception, match="did not respond in time"):
        opened.space.embed_query("foxes")
    opened.space.embed_query("foxes")


OLD, NEW = Layout("old", chunking="{}"), Layout("new", chunking="{}")


def test_another_chunking_alternates_between_both_slots() -> None:
    use = SpaceUse(OLD)
    for number, slot in enumerate((SECOND_SLOT, "", SECOND_SLOT)):
        wanted = Layout("old", chunking=str(number))
        use = use.with_build(wanted, answers=True, activates=True).with_activation()
        assert use.target == Layout("old", slot, str(number))


class Prefixed:
    """Token counter that counts characters. It adds a prefix with four tokens and two other tokens to
    each text."""

    def count_tokens(self, texts: list[str]) -> int:
        return sum(len(text) + 6 for text in texts)


def test_counted_tokens_exclude_special_tokens() -> None:
    counter = ModelTokenCounter(cast("Embedder", Prefixed()))
    assert counter(["", "a", "abc"]) == [0, 1, 3]
    assert counter([]) == []


def open_space(open_model: Any) -> OpenSpace:
    return OpenSpace(CannedGraph(), Space("default", small_embedder().identity), open_model)


def test_the_spaces_own_tokenizer_counts() -> None:
    counter = build_space_token_counter(open_space(small_embedder))
    assert counter(["two words", "one"]) == [2, 1]
    assert counter.problem is None


@pytest.mark.parametrize("text", ["", "a", "héron", "语" * 10, "word " * 100])
def test_without_model_half_the_bytes_are_counted(text: str) -> None:
    def fails() -> Embedder:
        raise EmbeddingUnavailable("it is away")

    counter = build_space_token_counter(open_space(fails))
    assert counter([text]) == [-(-len(text.encode()) // 2)]
    assert "estimated" in (counter.problem or "")
    assert "it is away" in (counter.problem or "")


HERE, THERE = "http://127.0.0.1:11434/v1", "https://models.example/v1"


def space_of(provider: str, model: str) -> Space:
    return replace(SPACE, identity=replace(SPACE.identity, provider=provider, model=model))


@pytest.mark.parametrize(
    ("address", "model", "price", "paid"),
    [
        (THERE, "nomic-embed-text", None, True),
        (HERE, "nomic-embed-text", None, False),
        (HERE, "nomic-embed-text", "0", False),
        (HERE, "nomic-embed-text", "0.1", True),
        (HERE, "text-embedding-3-small", None, True),
    ],
)
def test_local_server_is_free_unless_priced(
    monkeypatch: pytest.MonkeyPatch, address: str, model: str, price: str | None, paid: bool
) -> None:
    monkeypatch.setenv("KG_EMBEDDING__PROVIDER", "openai")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    if price:
        monkeypatch.setenv("KG_EMBEDDING__PRICE", price)
    assert is_paid(load_settings(), space_of("openai", model)) is paid


def test_repeated_query_is_not_embedded_again(opened: Opened) -> None:
    opened.space.embed_query("owls")
    first, again = (opened.space.embed_query("foxes") for _ in range(2))
    assert opened.sent == [["owls", PROBE_TEXT], ["foxes"]]
    assert first.tobytes() == again.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 1


def test_what_another_model_answered_is_not_remembered(
    opened: Opened, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong vector can be cached for some seconds until the change is detected."""
    del at_once
    monkeypatch.setattr(open_spaces, "PROVEN_SECONDS", 1000.0)
    opened.space.embed_query("owls")
    right = opened.space.embed_query("foxes").copy()
    opened.model.turned = True
    wrong = opened.space.embed_query("dens").copy()
    with pytest.raises(OtherModel):
        opened.space.check()
    opened.model.turned = False
    opened.space.check()
    assert opened.space.embed_query("dens").tobytes() != wrong.tobytes()
    assert opened.space.embed_query("foxes").tobytes() == right.tobytes()
