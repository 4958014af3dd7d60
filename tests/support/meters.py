import re
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from kg_api.metrics import Meters, QueueGauges
from kg_api.schemas.operations import QueueStatus

ROOT = Path(__file__).parents[2]
EMPTY = QueueStatus(
    queued=0, waiting=0, running=0, stalled=0, failed=0, oldest_waiting_seconds=0, backlog_age_seconds=0
)
_SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


def metrics() -> dict[str, frozenset[str]]:
    """Return the names of all samples that can be read by Prometheus, with their labels."""
    registry = CollectorRegistry()
    Meters(registry)
    found: dict[str, frozenset[str]] = {}
    for collector in registry._collector_to_names:
        found |= _samples_of(collector)
    for family in QueueGauges(EMPTY).collect():
        found[family.name] = frozenset(name for sample in family.samples for name in sample.labels)
    return found


def _samples_of(collector: Collector) -> dict[str, frozenset[str]]:
    assert isinstance(collector, MetricWrapperBase)
    (family,) = collector.describe()
    labels = frozenset(collector._labelnames)
    return {
        f"{family.name}{suffix}": labels | ({"le"} if suffix == "_bucket" else set())
        for suffix in _SUFFIXES[family.type]
    }


def stages() -> set[tuple[str, str]]:
    folder = ROOT / "kg_api" / "search"
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    found = {("search", stage) for text in texts.values() for stage in _stages_in(text)}
    for text in (*texts.values(), (ROOT / "kg_api/discovery/constructive.py").read_text(encoding="utf-8")):
        beside = texts["near"] if "from kg_api.search.near import" in text else ""
        for of in re.findall(r'Stopwatch\("(\w+)"\)', text):
            found |= {(of, stage) for stage in _stages_in(text + beside)}
    return found


def _stages_in(text: str) -> set[str]:
    return set(re.findall(r'\.stage\("(\w+)"\)', text))


class Counted:
    """Return how much has been counted in this process since then."""

    def __init__(self) -> None:
        self._before = _samples()

    def __call__(self, name: str, **labels: str) -> float:
        key = (name, frozenset(labels.items()))
        return _samples().get(key, 0.0) - self._before.get(key, 0.0)


def _samples() -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
    }
