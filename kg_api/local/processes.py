"""Files below KG_HOME, and the processes of kg on this machine: ports, pids, logs and readiness."""

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
    """Create a folder and its parents, accessible to the owner only."""
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    return path


def write_text(path: Path, text: str) -> None:
    """Write a file atomically with mode 0600."""
    write_whole(path, text.encode(), prefix=f".{path.name}.")


def keep_text(path: Path, text: str) -> None:
    """Write a file if its text differs. An unchanged file needs no space on a full disk."""
    if read_text(path) != text:
        write_text(path, text)


def read_text(path: Path) -> str | None:
    """Return the text of a file, or None if the file is missing."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=1) + "\n")


def rewrite_json(path: Path, value: object) -> None:
    """Write JSON. If the disk is full, overwrite the old content in place."""
    try:
        write_json(path, value)
    except OSError:
        with path.open("r+", encoding="utf-8") as file:
            file.write(json.dumps(value, indent=1) + "\n")
            file.truncate()


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file, or an empty one if the file is missing or damaged."""
    try:
        value: Any = json.loads(read_text(path) or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


# Files below KG_HOME

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses for comparison, not for listening


def choose_local_host(host: str) -> str:
    """Choose the host for a URL at which this machine connects to a listener."""
    near = _EVERYWHERE.get(host, host)
    return f"[{near}]" if ":" in near else near


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    host: str  # configured listen address in lower case, or empty if unknown
    port: int

    @property
    def url(self) -> str | None:
        """URL of the service for clients on this machine, or None if the host is unknown."""
        return f"http://{choose_local_host(self.host)}:{self.port}" if self.host else None


class Home:
    """Paths below KG_HOME, the password of the managed Neo4j and stored ports. Creation writes no files."""

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
        self.restoring = self.path / "restoring"
        self.replaced = self.path / "replaced"
        self.restore_file = self.path / "restore.json"

    def create(self) -> Home:
        """Create the folders, accessible to the owner only."""
        folders = (self.path, self.neo4j, self.neo4j_conf, self.neo4j_data, self.logs, self.run, self.metrics)
        try:
            for folder in folders:
                make_folder(folder)
            if not os.access(self.run, os.W_OK):
                raise ConfigurationError(
                    f"{self.path} cannot be written. Its disk may be mounted read-only. Set KG_HOME "
                    "to a folder of yours, or mount the disk for writing."
                )
            self._ensure_id()
        except OSError as error:
            raise ConfigurationError(
                f"{self.path} cannot be used: {error.strerror}. Name another folder with KG_HOME."
            ) from error
        return self

    def get_pid_file(self, role: str) -> Path:
        return self.run / f"{role}.pid"

    def log_file(self, role: str) -> Path:
        return self.logs / f"{role}.log"

    def read_password(self) -> str | None:
        """Return the password of the managed Neo4j, or None before its first start."""
        return (read_text(self.password_file) or "").strip() or None

    def ensure_password(self) -> str:
        """Return the password, or generate one on first use."""
        if known := self.read_password():
            return known
        if self.has_data():
            raise ConfigurationError(
                f"{self.password_file} is missing, but the database in {self.neo4j_data} needs it. "
                f"Restore the file, or move {self.neo4j} away to start with an empty database."
            )
        write_text(self.password_file, secrets.token_hex(24) + "\n")
        return self.ensure_password()

    def read_folder_key(self) -> str | None:
        """Return the key for folder grants, or None if no service has run or the file is unreadable."""
        with contextlib.suppress(OSError):
            return (read_text(self.folder_key_file) or "").strip() or None
        return None

    def prepare_service(self) -> None:
        """Create the id and the key by which the service and commands of this home recognise each other."""
        make_folder(self.run)
        self._ensure_id()
        if self.read_folder_key() is None:
            write_text(self.folder_key_file, secrets.token_hex(32) + "\n")

    def read_instance(self) -> str | None:
        """Return the id by which commands recognise the service of this home, or None before the first start.

        The id keeps a command from the service of another home. The id is not a credential. The hash includes
        the path, because a copy of a home is a different home.
        """
        try:
            text = read_text(self.id_file)
        except OSError:
            return None
        if not text:
            return None
        return hashlib.sha256(f"{text.strip()}\0{os.path.realpath(self.path)}".encode()).hexdigest()[:32]

    def _ensure_id(self) -> None:
        """Write a random id, unless one exists. Another process may write one at the same time."""
        if self.read_instance() is not None:
            return
        new = secrets.token_hex(16) + "\n"
        try:
            handle = os.open(self.id_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if not read_text(self.id_file):  # a process was killed between creating and writing the file
                write_text(self.id_file, new)
            return
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(new)

    def read_service_entries(self) -> list[dict[str, Any]]:
        """Return the service records of `announce`, the latest last."""
        entries: object = read_json(self.service_file).get("services")
        if not isinstance(entries, list):
            return []
        return [entry for entry in cast("list[Any]", entries) if isinstance(entry, dict)]

    def list_services(self) -> list[ServiceAddress]:
        """Return current or former addresses of this home's services, the latest last."""
        return [
            ServiceAddress(str(entry.get("host") or "").lower(), entry["port"])
            for entry in self.read_service_entries()
            if isinstance(entry.get("port"), int)
        ]

    def has_data(self) -> bool:
        """Check if Neo4j has run in this home, so that its system database exists."""
        return (self.neo4j_data / "databases" / "system").exists()

    def read_bolt_port(self) -> int | None:
        """Return the stored Bolt port, or None before the first start."""
        return self._read_port("neo4j")

    def build_bolt_uri(self) -> str | None:
        port = self.read_bolt_port()
        return None if port is None else f"bolt://127.0.0.1:{port}"

    def read_api_port(self) -> int | None:
        """Return the stored port of the REST service, or None before the first start."""
        return self._read_port("api")

    def build_api_url(self) -> str | None:
        port = self.read_api_port()
        host = read_json(self.ports_file).get("api_host", "127.0.0.1")
        return None if port is None else f"http://{host}:{port}"

    def remember(self, **entries: int | str) -> None:
        """Store ports (`neo4j`, `api`) and `api_host` for the next start."""
        write_json(self.ports_file, read_json(self.ports_file) | entries)

    def _read_port(self, role: str) -> int | None:
        port = read_json(self.ports_file).get(role)
        return port if isinstance(port, int) else None


# Log files

MAX_BYTES = 10 * 1024 * 1024


def limit(path: Path, max_bytes: int = MAX_BYTES) -> bool:
    """Move the content of a log over `max_bytes` to `<name>.1` and return whether it was moved.

    The file itself stays, because a running process appends to it. A line written during the copy may be
    lost.
    """
    try:
        if path.stat().st_size <= max_bytes:
            return False
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        os.truncate(path, 0)
    except OSError:  # no log, or no space for the copy
        return False
    return True


def read_tail(path: Path, lines: int) -> list[str]:
    """Return the last lines of a log, or an empty list if the file is missing."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=lines)]
    except FileNotFoundError:
        return []


def select_crash_lines(paths: Iterable[Path], markers: Sequence[str] = (), lines: int = 6) -> str:
    """Return the log lines that explain a crash: the last lines with a marker, or the last lines."""
    found: list[str] = []
    for path in paths:
        end = read_tail(path, 200)
        marked = [line for line in end if any(word in line for word in markers)]
        found += (marked or end)[-lines:]
    return "\n".join(line.strip()[:400] for line in dict.fromkeys(found) if line.strip())


# Ports on the loopback address

LOOPBACK = "127.0.0.1"
# An outgoing connection may take a port of the ephemeral range above before the server listens.
_BELOW_EPHEMERAL = range(20_000, 32_768)


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Check if a server can listen on a port."""
    try:
        _bind(host, port).close()
    except OSError:
        return False
    return True


def open_listener(host: str, port: int) -> socket.socket:
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
        if os.name == "posix":  # otherwise a recently closed port stays blocked for a minute
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


def find_free_port() -> int:
    return next(filter(is_free, random.sample(_BELOW_EPHEMERAL, 50)))


def choose_port(
    *, wanted: int | None, remembered: int | None, default: int, variable: str, host: str = LOOPBACK
) -> int:
    """Choose the wanted port. Without one, return the remembered port, the default or any free port."""
    if wanted is None:
        usual = (port for port in (remembered, default) if port and is_free(port, host))
        return next(usual, None) or find_free_port()
    if not is_free(wanted, host):
        raise ConfigurationError(
            f"port {wanted} of {variable} is in use by {describe_holder(wanted)}. Stop that process, set "
            f"{variable} to another port, or unset it: kg then picks a free one."
        )
    return wanted


def describe_holder(port: int) -> str:
    """Return a description of the process that listens on a port, with the home if the process is kg."""
    if (process := _find_listener(port)) is None:
        return "another process"
    home = find_holder_home(port)
    name = f"the kg of the home {home}" if home else process.name()
    return f"{name} (pid {process.pid})"


def find_holder_home(port: int) -> str | None:
    """Return the home of the kg that listens on a port, or None for other programs and other users."""
    try:
        process = _find_listener(port)
        return process and (_find_process_home(process) or _find_process_home(process.parent()))
    except psutil.Error:
        return None


def is_port_held_by_home(home: Path, port: int) -> bool:
    """Check if a kg of this home listens on a port, including versions without a home id."""
    found = find_holder_home(port)
    return found is not None and os.path.realpath(found) == os.path.realpath(home)


def _find_listener(port: int) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):  # macOS shows other users' sockets only to root
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:2] == (port,)
            if listens and connection.pid:
                return psutil.Process(connection.pid)
    return None


def _find_process_home(process: psutil.Process | None) -> str | None:
    """Return the home of a process of kg, or None. Child processes have other arguments."""
    if process is None or not any("kg_cli" in each or each.endswith("/kg") for each in process.cmdline()):
        return None
    return process.environ().get("KG_HOME", "of this user")


# Readiness of the REST service, requested with the standard library only

MAX_READ = 8_000_000


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """Readiness of a service."""

    reached: bool
    ready: bool = False
    waiting_for: str | None = None
    serves: bool = False
    """Whether the service can process requests. It may not be ready if no worker takes jobs."""
    slow: bool = False  # whether the service timed out, so that its state is unknown


class OtherHomeError(OSError):
    """Raised if a program other than the service of the expected home answers."""


def ask_ready(
    url: str, headers: Mapping[str, str] | None = None, *, home: Home | None = None, timeout: float = 3.0
) -> ApiAnswer:
    """Request GET /ready. An unreachable service is not ready.

    With authentication, the service lists its checks only for a key for all ontologies. If `home` is None,
    any service may answer. `timeout` applies to each network step.
    """
    sent = {"Accept": "application/json", **(headers or {})}
    try:
        status, body = exchange(url, "/ready", sent, timeout=timeout, instance=home and home.read_instance())
    except TimeoutError:
        waits = f"the service at {url}, which did not respond within {timeout:g} s and may be busy"
        return ApiAnswer(reached=False, waiting_for=waits, slow=True)
    except OtherHomeError:
        port = urlsplit(url).port or 0
        waits = f"the service at {url}, where {describe_holder(port)} answers instead"
        return ApiAnswer(reached=False, waiting_for=waits)
    except (OSError, http.client.HTTPException):
        return ApiAnswer(reached=False, waiting_for=f"the service to answer at {url}")
    return _understand(status, body)


def _understand(status: int, body: bytes) -> ApiAnswer:
    try:
        reply: Any = json.loads(body)
        waits = str(reply.get("waiting_for") or "the service")
    except (ValueError, AttributeError):
        return ApiAnswer(reached=True, waiting_for=f"the service, which answers HTTP {status}")
    if status == HTTPStatus.OK:
        return ApiAnswer(reached=True, ready=True, serves=True)
    try:
        failed = {check["name"] for check in reply["checks"] if not check["ok"]}
    except (KeyError, TypeError):
        failed = set[str]()
    # a service without these, its model or disk space still answers searches
    processes = {"worker", "processes"}
    return ApiAnswer(
        reached=True,
        waiting_for=waits,
        serves=bool(failed & processes) and failed <= processes | {"model", "disk"},
    )


def exchange(
    url: str, path: str, headers: Mapping[str, str], *, timeout: float, instance: str | None = None
) -> tuple[int, bytes]:
    """Send a GET request. Return the status and at most 8 MB of the response."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    with contextlib.closing(kind(parts.hostname or LOOPBACK, parts.port, timeout=timeout)) as connection:
        expected = {HOME_HEADER: instance} if instance else {}
        connection.request("GET", f"{parts.path.rstrip('/')}{path}", headers={**headers, **expected})
        response = connection.getresponse()
        if instance and response.headers.get(HOME_HEADER) != instance:
            raise OtherHomeError(url)
        return response.status, response.read(MAX_READ)


# Processes that outlive their parent, identified by pid and start time

CLOCK_TOLERANCE = 2.0  # seconds: the wall clock may change, and no pid is reused this soon

_children: dict[int, subprocess.Popen[bytes]] = {}
_exit_codes: dict[int, int] = {}


@dataclass(frozen=True, slots=True)
class ProcessId:
    """Identity of one process, distinct from a later process with the same pid."""

    pid: int
    created: float  # start time, seconds since 1970

    def is_alive(self) -> bool:
        """Check if the process runs. A zombie does not."""
        return self._process() is not None

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if process := self._process():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the process and return whether it came in time."""
        deadline = time.monotonic() + seconds
        while (alive := self.is_alive()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return not alive

    def end(self, grace_seconds: float) -> None:
        """Terminate the process. Kill it after `grace_seconds`."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # a stopped process handles SIGTERM only after SIGCONT
        if not self.wait(grace_seconds):
            self.kill()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait(seconds=10)

    def is_listening(self, port: int) -> bool:
        """Check if the process listens on a port, or True if the system denies access."""
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
            # A JVM's first thread can be a zombie while other threads still hold its files
            dead = process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
        except psutil.NoSuchProcess:
            return None
        return None if dead else process


def identify(pid: int) -> ProcessId | None:
    """Return the identity of a running process, or None."""
    try:
        found = ProcessId(pid, psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None
    return found if found.is_alive() else None


def save(pid_file: Path, process: ProcessId) -> None:
    rewrite_json(pid_file, asdict(process))


def load(pid_file: Path) -> ProcessId | None:
    """Return the running process of a pid file, or None if the file is missing, damaged or stale."""
    return _read_process_id(read_json(pid_file))


def _read_process_id(entry: Mapping[str, Any]) -> ProcessId | None:
    try:
        known = ProcessId(int(entry["pid"]), float(entry["created"]))
    except (KeyError, TypeError, ValueError):
        return None
    return known if known.is_alive() else None


def spawn(argv: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path) -> ProcessId:
    """Start a process in its own session and append its output to `log`."""
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
    return identify(child.pid) or ProcessId(child.pid, 0.0)  # 0.0: the process has already ended


def exit_code(process: ProcessId) -> int | None:
    """Return the exit code of an ended child of this process, or None if unknown."""
    _reap()
    return _exit_codes.get(process.pid)


def _reap() -> None:
    """Collect the exit codes of ended children, which would otherwise stay zombies."""
    for pid, child in list(_children.items()):
        if (code := child.poll()) is not None:
            _exit_codes[pid] = code
            _children.pop(pid, None)


def inherit(names: Container[str] | None = None) -> dict[str, str]:
    """Return the environment of this process for a child, or only the given names."""
    return {name: value for name, value in os.environ.items() if names is None or name in names}


# Role: one supervised process of the stack

POLL_SECONDS = 0.1
# Prefix of a command's error message, and the number of log lines to search
COMPLAINT, COMPLAINT_LINES = "kg: ", 50
OnWait = Callable[[str], None]  # called repeatedly with the reason for waiting


def do_nothing() -> None:
    """Do nothing. Default of a role's optional hooks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One process of the stack: how to start it and how to detect that it works."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]  # complete environment of the process
    cwd: Path
    log: Path
    pid_file: Path
    waiting_for: Callable[[], str | None]
    """Returns the reason why the role is not ready, for the user, or None."""
    prepare: Callable[[], None] = do_nothing  # runs before each start
    after: tuple[str, ...] = ()  # roles that must be ready first
    more_logs: tuple[Path, ...] = ()  # other logs that may explain a crash
    markers: tuple[str, ...] = ()  # words that mark the relevant log lines (default: the last lines)
    grace_seconds: float = 30
    blocked: Callable[[], str | None] = do_nothing
    """Returns the reason why the role cannot start yet, for the user, or None."""
    broken: Callable[[], str | None] = do_nothing
    """Returns the reason why the running process needs a restart, or None."""


def find_running(role: Role) -> ProcessId | None:
    """Return the running process of the role's pid file, or None."""
    return load(role.pid_file)


def start(role: Role) -> ProcessId:
    """Start the role's process in the background, or return the process that already runs."""
    if found := find_running(role):
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
    except OSError as error:  # without a pid file no other command would find the process
        process.kill()
        raise ManagedProcessError(
            f"{role.name} cannot be started: {role.pid_file}: {error.strerror}"
        ) from error
    return process


def wait(role: Role, process: ProcessId, *, timeout: float, on_wait: OnWait | None = None) -> None:
    """Wait until the role is ready. Raise ManagedProcessError if it ends, or after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while (reason := role.waiting_for()) is not None:
        if on_wait:
            on_wait(reason)
        if not process.is_alive():
            raise ManagedProcessError(describe_death(role))
        if time.monotonic() > deadline:
            raise ManagedProcessError(
                f"{role.name} was not ready after {timeout:.0f} s (waiting for {reason}). Its log: {role.log}"
            )
        time.sleep(POLL_SECONDS)


def stop(role: Role, *, grace_seconds: float | None = None) -> bool:
    """End the role's process and return whether one ran."""
    process = find_running(role)
    if process is not None:
        process.end(role.grace_seconds if grace_seconds is None else grace_seconds)
    role.pid_file.unlink(missing_ok=True)
    return process is not None


def read_complaint(role: Role) -> str | None:
    """Return the last error message of a kg command in the role's log, or None."""
    lines = read_tail(role.log, COMPLAINT_LINES)
    begins = [at for at, line in enumerate(lines) if line.startswith(COMPLAINT)]
    return "\n".join(lines[begins[-1] :]).removeprefix(COMPLAINT) if begins else None


def describe_death(role: Role, how: str = "") -> str:
    """Report that the process of a role died, with the last lines of its logs."""
    ended = f" ({how})" if how else ""
    last_words = select_crash_lines([*role.more_logs, role.log], role.markers)
    return f"{role.name} died{ended}. Its log {role.log} ends with:\n{last_words or '(nothing)'}"


# Record of the running services of a home, by which commands find them


def announce(home: Home, host: str, port: int) -> None:
    """Record this process as a service of the home and remove the records of ended services."""
    home.prepare_service()
    me = identify(os.getpid())
    with _changing(home):
        others = [
            each
            for each in home.read_service_entries()
            if _read_process_id(each) and each.get("port") != port
        ]
        mine = {"host": host, "port": port, **(asdict(me) if me else {})}
        write_json(home.service_file, {"services": [*others, mine]})


def withdraw(home: Home) -> None:
    """Remove the record of this process if another service of the home runs."""
    with _changing(home):
        entries = [each for each in home.read_service_entries() if _read_process_id(each)]
        if others := [each for each in entries if each.get("pid") != os.getpid()]:
            write_json(home.service_file, {"services": others})


def _changing(home: Home) -> filelock.BaseFileLock:
    return filelock.FileLock(home.run / "service.lock")
