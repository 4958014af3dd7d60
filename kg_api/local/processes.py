"""The home of a kg, and the processes on this machine: their files, ports, pids and readiness."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import filelock
import psutil

from kg_api.atomic_write import FOLDER_MODE, write_whole
from kg_api.errors import ConfigurationError, ManagedProcessError
from kg_api.wording import HOME_HEADER


def make_folder(path: Path) -> Path:
    """Create a folder, and those above it, for the owner alone."""
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    return path


def write_text(path: Path, text: str) -> None:
    """Write a file with mode 0600: all of it or, when interrupted, nothing."""
    write_whole(path, text.encode(), prefix=f".{path.name}.")


def keep_text(path: Path, text: str) -> None:
    """Write a file unless it holds that text: on a full disk an unchanged file is no hindrance."""
    if read_text(path) != text:
        write_text(path, text)


def read_text(path: Path) -> str | None:
    """Return the file's text; None if there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=1) + "\n")


def rewrite_json(path: Path, value: object) -> None:
    """Write JSON; on a full disk over the old content, which needs no room."""
    try:
        write_json(path, value)
    except OSError:
        with path.open("r+", encoding="utf-8") as file:
            file.write(json.dumps(value, indent=1) + "\n")
            file.truncate()


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file; an empty one if the file is missing or damaged."""
    try:
        value: Any = json.loads(read_text(path) or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


# KG_HOME: the folder that holds everything of the managed parts.

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is listened on, not by this


def near_host(host: str) -> str:
    """Return the host under which this machine reaches a listener, as a URL has it."""
    near = _EVERYWHERE.get(host, host)
    return f"[{near}]" if ":" in near else near


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    host: str
    """In lower case, as the service was told to listen; empty if unknown."""
    port: int

    @property
    def url(self) -> str | None:
        """The URL at which this machine reaches the service; None if the host is unknown."""
        return f"http://{near_host(self.host)}:{self.port}" if self.host else None


class Home:
    """Every path below KG_HOME, the password of the managed Neo4j, the ports. Opening it writes nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self.neo4j = self.path / "neo4j"
        self.neo4j_conf = self.neo4j / "conf"
        self.neo4j_data = self.neo4j / "data"
        self.neo4j_logs = self.neo4j / "logs"
        self.blobs = self.path / "blobs"
        self.logs = self.path / "logs"
        self.run = self.path / "run"
        self.metrics = self.run / "metrics"
        self.state_file = self.run / "state.json"
        self.ports_file = self.run / "ports.json"
        self.password_file = self.path / "neo4j-password"
        self.folder_key_file = self.path / "folder-key"
        self.id_file = self.path / "home-id"
        self.service_file = self.run / "service.json"
        self.evaluations = self.path / "evaluations"
        self.backups = self.path / "backups"
        self.backup_file = self.run / "backup.json"
        self.backup_lock = self.run / "backup.lock"
        self.restoring = self.path / "restoring"
        self.replaced = self.path / "replaced"
        self.restore_file = self.path / "restore.json"

    def create(self) -> Home:
        """Make the folders, readable by their owner alone."""
        if self.path.is_file():
            raise ConfigurationError(
                f"{self.path} is a file, not a folder. Name another folder with KG_HOME or --home."
            )
        folders = (self.path, self.neo4j, self.neo4j_conf, self.neo4j_data, self.logs, self.run, self.metrics)
        try:
            for folder in folders:
                make_folder(folder)
            if not os.access(self.run, os.W_OK):
                raise ConfigurationError(
                    f"{self.path} cannot be written; its disk may be mounted read-only. Set KG_HOME to a "
                    "folder of yours, or mount the disk for writing."
                )
            self._ensure_id()
        except OSError as error:
            raise ConfigurationError(
                f"{self.path} cannot be used: {error.strerror}. Name another folder with KG_HOME or --home."
            ) from error
        return self

    def pid_file(self, role: str) -> Path:
        return self.run / f"{role}.pid"

    def log_file(self, role: str) -> Path:
        return self.logs / f"{role}.log"

    def password(self) -> str | None:
        """Return the password of the managed Neo4j; None before its first start."""
        return (read_text(self.password_file) or "").strip() or None

    def ensure_password(self) -> str:
        """Return the password, made at random on first use."""
        if known := self.password():
            return known
        if self.has_data():
            raise ConfigurationError(
                f"{self.password_file} is gone, but the database in {self.neo4j_data} needs it. "
                f"Put the file back, or move {self.neo4j} away to start with an empty database."
            )
        write_text(self.password_file, secrets.token_hex(24) + "\n")
        return self.ensure_password()

    def folder_key(self) -> str | None:
        """Return the key that grants are made with; None before a service ran here, or if it is not ours."""
        with contextlib.suppress(OSError):
            return (read_text(self.folder_key_file) or "").strip() or None
        return None

    def prepare_service(self) -> None:
        """Create what a service and the commands of this home recognise each other by."""
        make_folder(self.run)
        self._ensure_id()
        if self.folder_key() is None:
            write_text(self.folder_key_file, secrets.token_hex(32) + "\n")

    def instance(self) -> str | None:
        """Return the id that a service of this home shows to its commands; None before the first start.

        It proves nothing and grants nothing: it keeps a command from the service of another home. The path
        is part of it, because a copy of a home is another home.
        """
        try:
            text = read_text(self.id_file)
        except OSError:
            return None
        if not text:
            return None
        return hashlib.sha256(f"{text.strip()}\0{os.path.realpath(self.path)}".encode()).hexdigest()[:32]

    def _ensure_id(self) -> None:
        """Write a random id, unless another process does so first or did so long ago."""
        if self.instance() is not None:
            return
        new = secrets.token_hex(16) + "\n"
        try:
            handle = os.open(self.id_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if not read_text(self.id_file):  # a process was killed between creating and writing it
                write_text(self.id_file, new)
            return
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(new)

    def service_entries(self) -> list[dict[str, Any]]:
        """Return the records that `announce` has written, the latest last."""
        entries: object = read_json(self.service_file).get("services")
        if not isinstance(entries, list):
            return []
        return [entry for entry in cast("list[Any]", entries) if isinstance(entry, dict)]

    def services(self) -> list[ServiceAddress]:
        """Return where services of this home listen, or listened last; the latest is the last one."""
        return [
            ServiceAddress(str(entry.get("host") or "").lower(), entry["port"])
            for entry in self.service_entries()
            if isinstance(entry.get("port"), int)
        ]

    def has_data(self) -> bool:
        """Whether a Neo4j has run here: its system database exists."""
        return (self.neo4j_data / "databases" / "system").exists()

    def bolt_port(self) -> int | None:
        """Return the remembered Bolt port; None before the first start."""
        return self._port("neo4j")

    def bolt_uri(self) -> str | None:
        port = self.bolt_port()
        return None if port is None else f"bolt://127.0.0.1:{port}"

    def api_port(self) -> int | None:
        """Return the remembered port of the REST service; None before the first start."""
        return self._port("api")

    def api_url(self) -> str | None:
        port = self.api_port()
        host = read_json(self.ports_file).get("api_host", "127.0.0.1")
        return None if port is None else f"http://{host}:{port}"

    def remember(self, **entries: int | str) -> None:
        """Keep ports (`neo4j`, `api`) and `api_host` for the next start."""
        write_json(self.ports_file, read_json(self.ports_file) | entries)

    def _port(self, role: str) -> int | None:
        port = read_json(self.ports_file).get(role)
        return port if isinstance(port, int) else None


# Log files that processes append to.

MAX_BYTES = 10 * 1024 * 1024


def limit(path: Path, max_bytes: int = MAX_BYTES) -> bool:
    """Move the content of a log over `max_bytes` to `<name>.1`; return whether that was done.

    The file itself stays, since a running process appends to it: a line written in between may be lost.
    """
    try:
        if path.stat().st_size <= max_bytes:
            return False
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        os.truncate(path, 0)
    except OSError:  # there is no log, or no room for the copy
        return False
    return True


def tail(path: Path, lines: int) -> list[str]:
    """Return the last lines of a log; none if there is no such file."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=lines)]
    except FileNotFoundError:
        return []


def telling(paths: Iterable[Path], markers: Sequence[str] = (), lines: int = 6, search: int = 200) -> str:
    """Return the lines that say why a process died: the last marked ones, or the last ones of all."""
    found: list[str] = []
    for path in paths:
        end = tail(path, search)
        marked = [line for line in end if any(word in line for word in markers)]
        found += (marked or end)[-lines:]
    return "\n".join(line.strip()[:400] for line in dict.fromkeys(found) if line.strip())


# Ports on the loopback address.

LOOPBACK = "127.0.0.1"
_BELOW_EPHEMERAL = range(20_000, 32_768)
"""Systems give outgoing connections ports above: one of those may be taken before its server listens."""


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen there now."""
    try:
        _bind(host, port).close()
    except OSError:
        return False
    return True


def listen_on(host: str, port: int) -> socket.socket:
    """Return a socket that listens: from now on no other process can take the port."""
    bound = _bind(host, port)
    try:
        bound.listen()
    except OSError:
        bound.close()
        raise
    return bound


def _bind(host: str, port: int) -> socket.socket:
    if _answers(port, host):  # some systems let two servers share a port under different addresses
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":  # else a port that was just closed seems taken for a minute
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def _answers(port: int, host: str) -> bool:
    try:
        socket.create_connection((host, port), timeout=0.5).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    """Return a port that nobody listens on at the moment."""
    for port in random.sample(_BELOW_EPHEMERAL, 50):
        if is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def choose_port(
    *, wanted: int | None, remembered: int | None, default: int, variable: str, host: str = LOOPBACK
) -> int:
    """Return the wanted port; without one that of the last start, the default, or any free one."""
    if wanted is None:
        usual = (port for port in (remembered, default) if port and is_free(port, host))
        return next(usual, None) or free_port()
    if not is_free(wanted, host):
        raise ConfigurationError(
            f"port {wanted}, which {variable} asks for, is taken by {holder(wanted)}. "
            f"Stop that process, set {variable} to another port, or unset it: kg then picks a free one."
        )
    return wanted


def holder(port: int) -> str:
    """Say who listens on a port, as far as this user may know; of a kg, whose home it serves."""
    if (process := _listener(port)) is None:
        return "another process"
    home = holder_home(port)
    name = f"the kg of the home {home}" if home else process.name()
    return f"{name} (pid {process.pid})"


def holder_home(port: int) -> str | None:
    """Return the home of the kg that listens on a port; None if it is no kg, or of another user."""
    try:
        process = _listener(port)
        return process and (_home_of(process) or _home_of(process.parent()))
    except psutil.Error:
        return None


def is_held_by_kg_of(home: Path, port: int) -> bool:
    """Whether a kg of this home listens on a port, also one of a version that cannot prove its home."""
    found = holder_home(port)
    return found is not None and os.path.realpath(found) == os.path.realpath(home)


def _listener(port: int) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):  # macOS shows other users' sockets to root only
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:2] == (port,)
            if listens and connection.pid:
                return psutil.Process(connection.pid)
    return None


def _home_of(process: psutil.Process | None) -> str | None:
    """Return the home of a process of kg; one that serves beside it has other arguments, and it as parent."""
    if process is None or not any("kg_cli" in each or each.endswith("/kg") for each in process.cmdline()):
        return None
    return process.environ().get("KG_HOME", "of this user")


# Asking the REST service on this machine how it is, with the standard library alone.

MAX_READ = 8_000_000


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What the service said of itself."""

    reached: bool
    ready: bool = False
    waiting_for: str | None = None
    serves: bool = False
    """Whether it can do its own work; it may still not be ready, for jobs wait that no worker takes."""
    slow: bool = False
    """Whether it was there and did not answer in time: it may be busy, and nothing is known."""


class OtherHomeError(OSError):
    """Another program answers than a service of the expected home."""


def ask_ready(
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    home: Home | None = None,
    timeout: float = 3.0,
) -> ApiAnswer:
    """Ask GET /ready; a service that cannot be reached is not ready.

    Args:
        url: of the service.
        headers: such as a key: a service that requires keys lists its checks only for one of all ontologies.
        home: whose service it has to be; None: any will do.
        timeout: of each step, in seconds.
    """
    sent = {"Accept": "application/json", **(headers or {})}
    try:
        status, body = exchange(url, "/ready", sent, timeout=timeout, instance=home and home.instance())
    except TimeoutError:
        waits = f"the service at {url}, which did not answer within {timeout:g} s; it may be busy"
        return ApiAnswer(reached=False, waiting_for=waits, slow=True)
    except OtherHomeError:
        port = urlsplit(url).port or 0
        waits = f"the service at {url}, where {holder(port)} answers instead"
        return ApiAnswer(reached=False, waiting_for=waits)
    except (OSError, http.client.HTTPException):
        return ApiAnswer(reached=False, waiting_for=f"the service to answer at {url}")
    return _understand(status, body)


def _understand(status: int, body: bytes) -> ApiAnswer:
    try:
        said: Any = json.loads(body)
        waits = str(said.get("waiting_for") or "the service")
    except (ValueError, AttributeError):
        return ApiAnswer(reached=True, waiting_for=f"the service, which answers HTTP {status}")
    if status == HTTPStatus.OK:
        return ApiAnswer(reached=True, ready=True, serves=True)
    try:
        failed = {check["name"] for check in said["checks"] if not check["ok"]}
    except (KeyError, TypeError):
        failed = set[str]()
    processes = {
        "worker",
        "processes",
    }  # it serves on if no more than these, or what searches do without, fail
    return ApiAnswer(
        reached=True,
        waiting_for=waits,
        serves=bool(failed & processes) and failed <= processes | {"model", "disk"},
    )


def exchange(
    url: str,
    path: str,
    headers: Mapping[str, str],
    *,
    timeout: float,
    body: bytes | None = None,
    instance: str | None = None,
) -> tuple[int, bytes]:
    """Send one request, a POST if there is a body; return the status and at most 8 MB of the answer."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    with contextlib.closing(kind(parts.hostname or LOOPBACK, parts.port, timeout=timeout)) as connection:
        method = "GET" if body is None else "POST"
        expected = {HOME_HEADER: instance} if instance else {}
        connection.request(method, f"{parts.path.rstrip('/')}{path}", body, {**headers, **expected})
        response = connection.getresponse()
        if instance and response.headers.get(HOME_HEADER) != instance:
            raise OtherHomeError(url)
        return response.status, response.read(MAX_READ)


# Processes that outlive the one that started them, known by pid and start time together.

CLOCK_TOLERANCE = 2.0
"""Seconds. Start times follow the wall clock, which may be set; no pid is re-used that fast."""

_children: dict[int, subprocess.Popen[bytes]] = {}
_exit_codes: dict[int, int] = {}


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, never mistaken for a later one with the same pid."""

    pid: int
    created: float
    """Start time, seconds since 1970."""

    def alive(self) -> bool:
        """Whether this very process runs; a zombie does not."""
        return self._process() is not None

    def signal(self, number: int) -> None:
        """Send a signal; nothing happens if the process is gone."""
        if process := self._process():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it came in time."""
        deadline = time.monotonic() + seconds
        while (alive := self.alive()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return not alive

    def end(self, grace_seconds: float) -> None:
        """Ask it to stop, and kill it if it does not in time."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # one that stands still hears of its end only then
        if not self.wait(grace_seconds):
            self.kill()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait(seconds=10)

    def listens(self, port: int) -> bool:
        """Whether this very process takes connections there; yes if the system does not tell."""
        try:
            found = self._process()
            held = found.net_connections("tcp") if found else []
        except psutil.NoSuchProcess:
            return False
        except psutil.Error:
            return True
        return any(each.status == psutil.CONN_LISTEN and each.laddr[1:2] == (port,) for each in held)

    def _process(self) -> psutil.Process | None:
        _reap()
        try:
            process = psutil.Process(self.pid)
            if abs(process.create_time() - self.created) >= CLOCK_TOLERANCE:
                return None
            # A JVM's first thread is a zombie before those end that still hold its files
            dead = process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
        except psutil.NoSuchProcess:
            return None
        return None if dead else process


def identify(pid: int) -> ProcessId | None:
    """Return the identity of a running process; None if there is none."""
    try:
        found = ProcessId(pid, psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None
    return found if found.alive() else None


def save(pid_file: Path, process: ProcessId) -> None:
    rewrite_json(pid_file, asdict(process))


def load(pid_file: Path) -> ProcessId | None:
    """Return the live process that a pid file names; None if the file is missing, damaged or stale."""
    return _process_of(read_json(pid_file))


def _process_of(entry: Mapping[str, Any]) -> ProcessId | None:
    try:
        known = ProcessId(int(entry["pid"]), float(entry["created"]))
    except (KeyError, TypeError, ValueError):
        return None
    return known if known.alive() else None


def spawn(argv: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path) -> ProcessId:
    """Start a process in a session of its own, its output appended to `log`."""
    with log.open("ab") as output:
        child = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    _exit_codes.pop(child.pid, None)
    return identify(child.pid) or ProcessId(child.pid, 0.0)  # 0.0: it is gone already


def exit_code(process: ProcessId) -> int | None:
    """Return the exit code of a child of this process that ended; None if it is not known."""
    _reap()
    return _exit_codes.get(process.pid)


def _reap() -> None:
    """Take leave of own children that ended; they would stay as zombies."""
    for pid, child in list(_children.items()):
        if (code := child.poll()) is not None:
            _exit_codes[pid] = code
            _children.pop(pid, None)


def inherit(names: Container[str] | None = None) -> dict[str, str]:
    """Return our environment for a child, or these names of it: handed on here, read in settings only."""
    return {name: value for name, value in os.environ.items() if names is None or name in names}


# A role: one process of the stack that is started, found again, waited for and ended.

POLL_SECONDS = 0.1
COMPLAINT, COMPLAINT_LINES = "kg: ", 50
"""The beginning of a command's error, and how far from the end of a log it is searched."""
OnWait = Callable[[str], None]
"""Called again and again with what is being waited for."""


def nothing() -> None:
    """Prepare nothing, and find nothing wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What a process of the stack is and how one sees that it works."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    """Its whole environment."""
    cwd: Path
    log: Path
    pid_file: Path
    waiting_for: Callable[[], str | None]
    """None once it works; else what it is being waited for, in words for a person."""
    prepare: Callable[[], None] = nothing
    """Runs before each start."""
    after: tuple[str, ...] = ()
    """Roles that must work before this one is started."""
    more_logs: tuple[Path, ...] = ()
    """Other logs that may hold the reason of a death."""
    markers: tuple[str, ...] = ()
    """Words that mark the telling lines of its logs; without any, the last lines tell."""
    grace_seconds: float = 30
    blocked: Callable[[], str | None] = nothing
    """What it waits for before it can be started, in words for a person; None if it can."""
    broken: Callable[[], str | None] = nothing
    """Why a process that runs must be ended and started again; None while it does its work."""


def running(role: Role) -> ProcessId | None:
    """Return the live process of the role's pid file."""
    return load(role.pid_file)


def start(role: Role) -> ProcessId:
    """Start the role's process, detached; one that runs already is kept."""
    if found := running(role):
        return found
    role.prepare()
    make_folder(role.log.parent)
    limit(role.log)
    try:
        process = spawn(role.argv, env=role.env, log=role.log, cwd=role.cwd)
    except OSError as error:
        raise ManagedProcessError(
            f"{role.name} cannot be started: {role.argv[0]}: {error.strerror}"
        ) from error
    try:
        save(role.pid_file, process)
    except OSError as error:  # without a pid file no other command would find it
        process.kill()
        raise ManagedProcessError(
            f"{role.name} cannot be started: {role.pid_file}: {error.strerror}"
        ) from error
    return process


def wait(role: Role, process: ProcessId, *, timeout: float, on_wait: OnWait | None = None) -> None:
    """Wait until the role works."""
    deadline = time.monotonic() + timeout
    while (reason := role.waiting_for()) is not None:
        if on_wait:
            on_wait(reason)
        if not process.alive():
            raise ManagedProcessError(describe_death(role))
        if time.monotonic() > deadline:
            raise ManagedProcessError(
                f"{role.name} was not ready after {timeout:.0f} s (waiting for {reason}). Its log: {role.log}"
            )
        time.sleep(POLL_SECONDS)


def stop(role: Role, *, grace_seconds: float | None = None) -> bool:
    """End the role's process, gracefully if it can; return whether one ran."""
    process = running(role)
    if process is not None:
        process.end(role.grace_seconds if grace_seconds is None else grace_seconds)
    role.pid_file.unlink(missing_ok=True)
    return process is not None


def read_complaint(role: Role) -> str | None:
    """Return the error that a command of kg printed when it ended; None if its log has none."""
    lines = tail(role.log, COMPLAINT_LINES)
    begins = [at for at, line in enumerate(lines) if line.startswith(COMPLAINT)]
    return "\n".join(lines[begins[-1] :]).removeprefix(COMPLAINT) if begins else None


def describe_death(role: Role, how: str = "") -> str:
    """Say that a role's process died, and why as far as its logs tell."""
    ended = f" ({how})" if how else ""
    last_words = telling([*role.more_logs, role.log], role.markers)
    return f"{role.name} died{ended}. Its log {role.log} ends with:\n{last_words or '(nothing)'}"


# The record of the services of a home, which commands read to find them. A home can have several at once.


def announce(home: Home, host: str, port: int) -> None:
    """Record that this process serves a home; records of services that have died are removed."""
    home.prepare_service()
    me = identify(os.getpid())
    with _changing(home):
        others = [each for each in home.service_entries() if _process_of(each) and each.get("port") != port]
        mine = {"host": host, "port": port, **(asdict(me) if me else {})}
        write_json(home.service_file, {"services": [*others, mine]})


def withdraw(home: Home) -> None:
    """Remove the record of this process if another service of the home runs."""
    with _changing(home):
        entries = [each for each in home.service_entries() if _process_of(each)]
        if others := [each for each in entries if each.get("pid") != os.getpid()]:
            write_json(home.service_file, {"services": others})


def _changing(home: Home) -> filelock.BaseFileLock:
    return filelock.FileLock(home.run / "service.lock")
