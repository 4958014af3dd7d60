import re
import subprocess
import sys
from pathlib import Path

import pytest

from kg_api.metrics import RESERVED_BYTES, QueueGauges, render_metrics
from kg_api.schemas.operations import QueueStatus
from tests.support.meters import metrics
from tests.support.routes import PUBLIC, ROUTES


def test_queue_gauges_accompany_process_metrics() -> None:
    counts = {"queued": 3, "waiting": 1, "running": 2, "stalled": 1, "failed": 4, "backlog_age_seconds": 60}
    status = QueueStatus.model_validate({**counts, "oldest_waiting_seconds": 5.5})
    told = render_metrics(QueueGauges(status)).decode().splitlines()
    assert 'kg_jobs{state="failed"} 4.0' in told
    assert "kg_jobs_oldest_waiting_seconds 5.5" in told
    assert "kg_workers 0.0" in told
    assert "# TYPE kg_jobs gauge" in told
    assert any(line.startswith("python_info") for line in told)
    assert "kg_jobs" not in render_metrics(QueueGauges(None)).decode(), "0 would mean that all is well"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    return tmp_path


COUNTED = """
from kg_api.metrics import get_meters
metrics = get_meters()
for number in range(100):
    metrics.count("embedding_tokens", f"model {number}")
"""


def test_metrics_that_processes_share_have_all_their_blocks(folder: Path) -> None:
    """If the disk is full, the process is killed when it uses a new page of a sparse file that is mapped
    into memory."""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", COUNTED], check=True)
    files = list(folder.glob("*.db"))
    assert {file.name.partition("_")[0] for file in files} == {"counter", "histogram", "gauge"}
    for file in files:
        reserved = RESERVED_BYTES[file.name.rpartition("_")[0]]
        assert (file.stat().st_size, file.stat().st_blocks * 512 >= reserved) == (reserved, True)
    told = render_metrics().decode().splitlines()
    assert 'embedding_tokens_total{model="model 99"} 2.0' in told, "the sum of both processes"


NO_ROOM = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
"""If you write more than this, it fails as if the disk were full."""


def test_full_disk_keeps_metrics_in_the_process(folder: Path) -> None:
    own = "print(metrics._metrics['embedding_tokens'].labels('model 99')._value.get())"
    done = subprocess.run(
        [sys.executable, "-c", f"{NO_ROOM}\n{COUNTED}\n{own}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1.0"), done.stderr
    assert "metrics of this process are not shared" in done.stdout + done.stderr
    assert list(folder.glob("*.db")) == []


RACE = """
import sys, threading
sys.setswitchinterval(1e-6)
from kg_api.metrics import get_meters
barrier, found = threading.Barrier(8), []

def ask():
    barrier.wait()
    found.append(get_meters())

threads = [threading.Thread(target=ask) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
assert len(found) == 8 and len(set(map(id, found))) == 1, found
"""


def test_metrics_of_new_process_survive_eight_threads() -> None:
    ran = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


EVERYTHING = """
import sys
from kg_api.metrics import get_meters, spend_tokens
from tests.support.meters import stages
of = get_meters()
operations = [route.split() for route in sys.argv[1:]]
operations += [(method, "none") for method in ("GET", "POST", "PUT", "DELETE", "other")]
assert len(operations) > 100
for method, path in operations:
    for status in (200, 400, 500, 0):
        of.count("http_requests_open")
        of.count("http_requests", method, path, f"{status // 100}xx" if status else "none")
        of.observe("http_request_seconds", method, path, seconds=0.001)
assert len(stages()) > 40
for each, stage in stages():
    of.observe("search_stage_seconds", each, stage, seconds=0.001)
for kind in range(12):
    of.count("job_runs_begun", f"concept_extraction_{kind}")
    of.observe("job_run_seconds", f"concept_extraction_{kind}", seconds=0.001)
    for outcome in range(12):
        of.count("job_runs", f"concept_extraction_{kind}", f"interrupted {outcome}")
for access in ("read", "write"):
    with of.under_way("neo4j_sessions_open"), of.timing("neo4j_seconds", access):
        of.count("neo4j_retries", access)
    for error in range(20):
        of.count("neo4j_failures", access, f"TransientErrorOfNeo4j {error}")
for kind in ("embed", "image", "llm", "rerank"):
    for host in range(3):
        name = f"a-long-name-of-a-host-{host}.example.com"
        with of.timing("provider_request_seconds", kind, name):
            of.count("provider_retries", kind)
        for reason in range(12):
            of.count("provider_failures", kind, name, f"not_found {reason}")
        spend_tokens(kind, name, read=1, written=1, dollars=1.0)
for model in range(30):
    name = f"sentence-transformers/a-long-name-{model}"
    of.count("embeddings", name, "1536")
    of.observe("embedding_latency_seconds", name, seconds=0.001)
    of.count("embedding_tokens", name)
    of.count("embedding_probes", name)
"""
OPEN = """
from kg_api.metrics import get_meters
get_meters().count("http_requests_open")
print("open", flush=True)
input()
"""


def test_every_value_of_every_metric_has_room(folder: Path) -> None:
    command = [sys.executable, "-c", EVERYTHING, *ROUTES, *PUBLIC]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[3])
    heads = {path.name.rpartition("_")[0]: path.read_bytes()[:4] for path in folder.iterdir()}
    used = {kind: int.from_bytes(head, sys.byteorder) for kind, head in heads.items()}
    assert used.keys() == RESERVED_BYTES.keys()
    assert {kind: size for kind, size in used.items() if size > RESERVED_BYTES[kind]} == {}
    assert used["histogram"] > 100_000


def test_gauges_of_a_dead_process_are_removed(folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OPEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert b"kg_http_requests_open 1.0" in render_metrics()
        process.kill()
    assert b"kg_http_requests_open 1.0" not in render_metrics()
    assert list(folder.glob("counter_*.db")), "what it counted stays"


PAGE = Path(__file__).parents[3] / "docs" / "operations" / "monitoring.md"
SUFFIXES = {"counter": [""], "gauge": [""], "histogram": ["_bucket", "_count", "_sum"]}


def listed() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for name, kind, labels in rows:
        own = set(re.findall(r"`(\w+)`", labels))
        found |= {
            name + suffix: own | ({"le"} if suffix == "_bucket" else set()) for suffix in SUFFIXES[kind]
        }
    return found


def test_the_list_is_that_of_the_code() -> None:
    assert listed() == metrics()
    assert len(listed()) > 30
