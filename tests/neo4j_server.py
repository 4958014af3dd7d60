import contextlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from kg_api.local import neo4j, processes
from kg_api.local.neo4j import build_neo4j_role, choose_bolt_port
from kg_api.local.processes import Home, Role, find_free_port
from kg_api.settings import Neo4jSettings, Settings, load_settings
from tests.support import migrated_home

IMAGE = "neo4j:2026.08.1-community"
PREFIX = "kg-test-neo4j-"
MEMORY = Path("/dev/shm")  # noqa: S108 - the name of a folder by `mkdtemp` is unique
MEMORY_BYTES = 2 << 30
"""Free space that homes need. Each has less than 300 MB."""
START_SECONDS = 300
USER = "neo4j"
KEPT_PLANS = {
    "internal.cypher.use_parameter_size": "false",
    "dbms.cypher.min_replan_interval": "1h",
    "internal.cypher.expression_engine": "INTERPRETED",
}
"""Number of plans to cache. Without this, a sixth of the CPU time is used to plan statements again, and
another sixth to compile expressions."""


@dataclass(frozen=True)
class Neo4jServer:
    uri: str
    user: str
    password: str
    role: Role | None = None

    @property
    def home(self) -> Path:
        return self._managed().pid_file.parent.parent

    def kill(self) -> None:
        if process := processes.find_running(self._managed()):
            process.kill()

    def restart(self) -> None:
        """Start the server again with the same address and data, and wait until it responds."""
        role = self._managed()
        processes.wait(role, processes.start(role), timeout=START_SECONDS)

    def stop(self, grace_seconds: float | None = None) -> None:
        processes.stop(self._managed(), grace_seconds=grace_seconds)

    def _managed(self) -> Role:
        if self.role is None:
            raise RuntimeError(f"{self.uri} is not ours to stop: use managed_server() for tests of faults")
        return self.role


@contextlib.contextmanager
def neo4j_server() -> Generator[Neo4jServer]:
    """Yield a Neo4j server. If there is none, this raises an error, so that no test is skipped by
    accident."""
    if uri := os.environ.get("KG_TEST_NEO4J_URI"):
        if "PYTEST_XDIST_WORKER" in os.environ:
            raise RuntimeError("KG_TEST_NEO4J_URI is one database: run its tests in one process, -n 0")
        yield Neo4jServer(uri, USER, os.environ.get("KG_TEST_NEO4J_PASSWORD", ""))
    else:
        with container_server() if _docker_answers() else managed_server() as server:
            yield server


@contextlib.contextmanager
def managed_server(*, first_start: bool = False) -> Generator[Neo4jServer]:
    """Yield a managed Neo4j with a temporary folder and its own port.

    Args:
        first_start: Start with an empty home instead of a stored password and schema.
    """
    _sweep()
    with home_in_memory() as home:
        if not first_start:
            migrated_home.give(home.path)
        settings = small_settings(home.path)
        role = build_neo4j_role(home, settings)
        try:
            choose_bolt_port(home, settings)
            processes.wait(role, processes.start(role), timeout=START_SECONDS)
            yield Neo4jServer(home.build_bolt_uri() or "", USER, home.read_password() or "", role)
        finally:
            _kill(role)


@contextlib.contextmanager
def container_server() -> Generator[Neo4jServer]:
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415 - needs a Docker engine

    password = secrets.token_urlsafe(16)
    container = DockerContainer(IMAGE).with_env("NEO4J_AUTH", f"{USER}/{password}").with_exposed_ports(7687)
    with container as started:
        uri = f"bolt://{started.get_container_host_ip()}:{started.get_exposed_port(7687)}"
        deadline = time.monotonic() + START_SECONDS
        while not neo4j.is_bolt_reachable(uri):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the container of {IMAGE} does not answer: {started.get_logs()}")
            time.sleep(0.2)
        yield Neo4jServer(uri, USER, password)


def small_settings(home: Path, port: int | None = None) -> Settings:
    small = Neo4jSettings(heap_mb=512, pagecache_mb=128, port=port or find_free_port(), conf=KEPT_PLANS)
    return load_settings().model_copy(update={"home": home, "neo4j": small})


@contextlib.contextmanager
def home_in_memory() -> Generator[Home]:
    """Yield an empty home that is deleted at the end."""
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_folder()))
    me = processes.identify(os.getpid())
    if me is not None:
        processes.save(path / "owner.pid", me)
    try:
        yield Home(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _folder() -> Path:
    """Find a folder in memory, because each commit waits some milliseconds for a disk."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_BYTES
    return MEMORY if roomy else Path(tempfile.gettempdir())


def _sweep() -> None:
    for owner in _folder().glob(f"{PREFIX}*/owner.pid"):
        if processes.load(owner) is None:
            _kill(build_neo4j_role(Home(owner.parent), small_settings(owner.parent)))
            shutil.rmtree(owner.parent, ignore_errors=True)


def _kill(role: Role) -> None:
    if process := processes.find_running(role):
        process.kill()


def _docker_answers() -> bool:
    if "DOCKER_HOST" not in os.environ and not Path("/var/run/docker.sock").exists():
        return False  # asking would leave an open socket behind
    try:
        import docker  # noqa: PLC0415 - comes with testcontainers
        from docker.errors import DockerException  # noqa: PLC0415
    except ImportError:
        return False
    try:
        with contextlib.closing(docker.from_env(timeout=5)) as client:
            return bool(client.ping())
    except DockerException:
        return False
