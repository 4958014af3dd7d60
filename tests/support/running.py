import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from kg_api.local.processes import find_free_port
from tests.neo4j_server import Neo4jServer
from tests.support.forked import KG, ForkedProcess

START_SECONDS = 60.0
WORKER_STARTS = "worker starts"
"""Event to wait for in the log of a worker."""
PROCESSES = "KG_API__PROCESSES"
"""Variables to use for child processes. They start like the first process, so it cannot be forked."""
OURS = ("KG_", "OPENAI_", "NOMIC_", "COHERE_", "OTEL_")


@dataclass
class Running:
    """Process that was started for a test, with the file to write its output to."""

    process: ForkedProcess | subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self, seconds: float = 30) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(seconds)

    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def environment(server: Neo4jServer, **more: str) -> dict[str, str]:
    """Return the environment for a kg process that uses the Neo4j of the tests and the small embedder."""
    foreign = {name for name in os.environ if name.startswith(OURS) and name != "KG_CACHE"}
    return {
        **{name: value for name, value in os.environ.items() if name not in foreign},
        "KG_NEO4J__URI": server.uri,
        "KG_NEO4J__USER": server.user,
        "KG_NEO4J__PASSWORD": server.password,
        PROCESSES: "1",
        "KG_EMBEDDING__PROVIDER": "deterministic",
        "KG_RERANK__PROVIDER": "none",
        "KG_CONCEPTS__EXTRACTOR": "none",
        "KG_SYNC__ROOTS": "/",
        **more,
    }


def start(arguments: list[str], env: dict[str, str], log: Path, entry: str = KG) -> Running:
    with Path(os.devnull).open("rb") as nothing, log.open("ab") as output:
        if env.get(PROCESSES, "1") != "1":
            command = [sys.executable, "-m", entry.partition(":")[0], *arguments]
            return Running(subprocess.Popen(command, env=env, stdout=output, stderr=output), log)
        return Running(ForkedProcess(entry, arguments, env=env, files=(nothing, output, output)), log)


@contextmanager
def started(arguments: list[str], env: dict[str, str], log: Path) -> Generator[Running]:
    """Start `kg ARGUMENTS`, and stop it when you leave the context."""
    running = start(arguments, env, log)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.signal(signal.SIGCONT)
            running.kill()


@contextmanager
def started_worker(env: dict[str, str], log: Path) -> Generator[Running]:
    """Start a worker. It has opened the database, so you have to stop it before you delete all data."""
    with started(["worker"], env, log) as running:
        wait_until(lambda: WORKER_STARTS in running.output(), START_SECONDS, running.output)
        yield running


@dataclass
class Service(Running):
    url: str


def serve(server: Neo4jServer, folder: Path, **more: str) -> Service:
    """Start the REST service and wait until it is ready."""
    port = find_free_port()
    url = f"http://127.0.0.1:{port}"
    home = str(folder / "home")
    env = environment(server, **{"KG_API__PORT": str(port), "KG_HOME": home, **more})
    running = start(["serve"], env, folder / f"serve-{port}.log")
    service = Service(running.process, running.log, url)
    wait_until(lambda: ready(url), START_SECONDS, lambda: f"not ready: {service.output()}")
    return service


def ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ready", timeout=5).is_success
    except httpx.TransportError:
        return False


def wait_until(
    condition: Callable[[], bool], seconds: float, complaint: Callable[[], str] = lambda: "it did not happen"
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s: {complaint()}")
        time.sleep(0.05)
