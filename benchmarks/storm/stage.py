"""A kg whose processes can be killed: Neo4j and service under the product's supervisor, workers here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import neo4j

from kg_api.client import KgClient
from kg_api.local import processes
from kg_api.local.processes import Home, Role
from kg_api.local.supervisor import Supervisor
from kg_api.settings import load_settings
from kg_cli.stack.roles import build_roles, choose_ports

START_SECONDS = 300.0
KG = "from kg_api import settings; settings.is_constant = lambda _: False; from kg_cli.main import run; run()"
"""`kg`, for which constants such as the lease of a job are settings."""
RESTART_SECONDS = 0.5
"""After this long a worker that died is started again, as the supervisor does."""

HOPELESS = 78
"""Exit code of a process whose settings, database or port are not for it; a port may be kept for a moment."""

Rows = list[dict[str, Any]]


@dataclass
class Attended:
    """A command of kg that is started again whenever it dies; each process logs into a file of its own."""

    name: str
    home: Home
    command: str = "worker"
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    sign: str = '"worker starts"'
    """What its log tells as soon as it works."""
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    died_at: float = 0.0
    ends: list[int] = field(default_factory=list[int])
    """Exit codes of those that have ended; -9: it was killed."""

    def attend(self) -> None:
        """Start it unless it runs."""
        if self.process is not None and self.process.poll() is None:
            return
        if self.process is not None and self.process.returncode == HOPELESS and self.starts == 1:
            raise RuntimeError(f"{self.name} cannot start: {self.log.read_text(errors='replace')[-2000:]}")
        if self.process is not None and self.died_at == 0:
            self.died_at = time.monotonic()
            self.ends.append(self.process.returncode)
        if time.monotonic() - self.died_at >= RESTART_SECONDS:
            self._start()

    def _start(self) -> None:
        self.starts, self.died_at = self.starts + 1, 0.0
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", KG, self.command],
                env={**os.environ, **self.environment},
                stdout=output,
                stderr=output,
            )

    @property
    def log(self) -> Path:
        """Where its newest process logs."""
        return self.home.logs / f"{self.name}-{self.starts:03}.log"

    @property
    def works(self) -> bool:
        """Whether it works, and is not just starting."""
        return self.pid is not None and self.sign in self.log.read_text(errors="replace")

    @property
    def pid(self) -> int | None:
        """Its process, if it runs."""
        alive = self.process is not None and self.process.poll() is None
        return self.process.pid if self.process is not None and alive else None

    def kill(self) -> int | None:
        """End it with SIGKILL; give the pid it had."""
        pid = self.pid
        if self.process is not None and pid is not None:
            self.process.kill()
            self.process.wait()
        return pid


@dataclass
class Stage:
    """The running kg of a storm."""

    home: Home
    driver: neo4j.Driver
    neo4j: Role
    workers: list[Attended] = field(default_factory=list[Attended])
    _crews: int = 0

    def client(self) -> KgClient:
        """A client of its service."""
        return KgClient(self.home.build_api_url() or "", timeout_seconds=120)

    def rows(self, text: Any, **parameters: Any) -> Rows:
        """Ask the database behind the product's back."""
        return self.driver.execute_query(text, parameters, result_transformer_=neo4j.Result.data)

    def kg(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of kg, at the service of the home that listened last: that lets its own user in."""
        command = [sys.executable, "-m", "kg_cli.main", *arguments]
        urls = [each.url for each in self.home.list_services() if each.url]
        env = os.environ | ({"KG_API_URL": urls[-1]} if urls else {})
        return subprocess.run(command, env=env, check=False, capture_output=True, text=True)

    @contextmanager
    def working(self, count: int) -> Generator[list[Attended]]:
        """Keep so many workers running while the context is open."""
        self._crews += 1
        names = [f"worker-{self._crews}{chr(97 + number)}" for number in range(count)]
        self.workers = [Attended(name, self.home) for name in names]
        with attending(self.workers):
            yield self.workers

    def log_entries(self) -> Iterator[dict[str, Any]]:
        """Everything that workers have logged so far; lines that were cut by a kill are left out."""
        for log in sorted(self.home.logs.glob("worker-*.log")):
            for line in log.read_text(errors="replace").splitlines():
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


@contextmanager
def attending(crew: Sequence[Attended]) -> Generator[None]:
    """Keep these running while the context is open."""
    ended = threading.Event()

    def attend() -> None:
        while not ended.wait(0.1):
            for each in crew:
                each.attend()

    thread = threading.Thread(target=attend, name="attending")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        for each in crew:
            _end(each)


@contextmanager
def staged(supervised: Sequence[str] = ("neo4j", "api")) -> Generator[Stage]:
    """Start Neo4j and the service in a home of its own; end and delete everything with the context.

    Args:
        supervised: the roles that the product's own supervisor keeps running.
    """
    with tempfile.TemporaryDirectory(prefix="kg-storm-", ignore_cleanup_errors=True) as folder:
        os.environ.update(
            KG_HOME=folder,
            KG_API__PORT=str(processes.find_free_port()),
            KG_NEO4J__PORT=str(processes.find_free_port()),
        )
        settings = load_settings()
        home = Home(settings.home).create()
        choose_ports(home, settings)
        watched = [role for role in build_roles(home, settings) if role.name in supervised]
        with ExitStack() as opened:
            opened.enter_context(_supervised(watched))
            auth = ("neo4j", home.read_password() or "")
            driver = neo4j.GraphDatabase.driver(
                home.build_bolt_uri() or "",
                auth=auth,
                connection_timeout=2,
                max_transaction_retry_time=0.1,
                notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
            )
            yield Stage(home, opened.enter_context(driver), watched[0])


@contextmanager
def _supervised(watched: list[Role]) -> Generator[None]:
    stop = threading.Event()
    supervisor = threading.Thread(
        target=Supervisor(watched, lambda _: None).run, args=(stop,), name="supervisor"
    )
    supervisor.start()
    try:
        _until_working(watched)
        yield
    finally:
        stop.set()
        supervisor.join()
        for role in reversed(watched):
            processes.stop(role)


def _until_working(watched: list[Role]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while reasons := [reason for role in watched if (reason := role.waiting_for())]:
        if time.monotonic() > deadline:
            raise SystemExit(f"it does not start: {reasons}")
        time.sleep(0.2)


def _end(attended: Attended) -> None:
    if attended.process is None or attended.process.poll() is not None:
        return
    attended.process.terminate()
    try:
        attended.process.wait(60)
    except subprocess.TimeoutExpired:
        attended.kill()
