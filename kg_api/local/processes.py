"""Small files that only their owner may read, written so that a reader never sees half of one."""

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
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import filelock
import psutil

from kg_api.atomic_write import FOLDER_MODE, write_whole
from kg_api.errors import ConfigurationError, ManagedProcessError
from kg_api.wording import HOME_HEADER


def make_folder(path: Path) -> Path:
    """Create a folder, and those above it, for the owner alone.

    Raises:
        OSError: it cannot be created, or is a file.
    """
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    return path


def write_text(path: Path, text: str) -> None:
    """Write a file with mode 0600: all of it or, when interrupted, nothing.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full.
    """
    write_whole(path, text.encode(), prefix=f".{path.name}.")


def create_text(path: Path, text: str) -> None:
    """Write a file with mode 0600 unless another process creates it first.

    Raises:
        OSError: as in `write_text`.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if not read_text(path):  # a process was killed between creating and writing it
            write_text(path, text)
        return
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def keep_text(path: Path, text: str) -> None:
    """Write a file unless it holds that text already: so a full disk is no hindrance when nothing changed.

    Raises:
        OSError: as in `write_text`.
    """
    if read_text(path) != text:
        write_text(path, text)


def rewrite_json(path: Path, value: object) -> None:
    """Write JSON; on a full disk over what the file holds already, which needs no room.

    Raises:
        OSError: that cannot be done either.
    """
    try:
        write_json(path, value)
    except OSError:
        with path.open("r+", encoding="utf-8") as file:
            file.write(json.dumps(value, indent=1) + "\n")
            file.truncate()


def read_text(path: Path) -> str | None:
    """Give the file's text; None when there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def write_json(path: Path, value: object) -> None:
    """Write JSON the way `write_text` does."""
    write_text(path, json.dumps(value, indent=1) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Give the object in a file; an empty one when it is missing or was damaged."""
    try:
        value: Any = json.loads(read_text(path) or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


# The folder that holds everything of the managed parts: KG_HOME.

PASSWORD_BYTES = 24
FOLDER_KEY_BYTES = 32
HOME_ID_BYTES = 16


_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is listened on, not by this


def near_host(host: str) -> str:
    """Give the host under which this machine reaches a listener, as it stands in an URL."""
    near = _EVERYWHERE.get(host, host)
    return f"[{near}]" if ":" in near else near


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Where a service listens."""

    host: str
    """In lower case, as the service was told to listen; empty if unknown."""
    port: int

    @property
    def url(self) -> str | None:
        """The address at which this machine reaches the service; None if the host is unknown."""
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
        self.started_with_file = self.run / "settings.json"
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
        """Make the folders, readable by their owner alone.

        Raises:
            ConfigurationError: the place cannot be written.
        """
        if self.path.is_file():
            raise ConfigurationError(
                f"{self.path} is a file, not a folder. Name another folder with KG_HOME or --home."
            )
        try:
            for folder in (self.path, self.neo4j, self.neo4j_conf, self.neo4j_data, self.logs, self.run):
                make_folder(folder)
            make_folder(self.metrics)
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

    def forget_metrics(self) -> None:
        """Begin to count anew: remove what the processes of an earlier stack have counted."""
        for file in self.metrics.glob("*.db"):
            file.unlink(missing_ok=True)

    def pid_file(self, role: str) -> Path:
        """Where the identity of a role's process is kept."""
        return self.run / f"{role}.pid"

    def log_file(self, role: str) -> Path:
        """Where a role's output goes."""
        return self.logs / f"{role}.log"

    def password(self) -> str | None:
        """Give the password of the managed Neo4j; None when it was never started."""
        text = read_text(self.password_file)
        return text.strip() if text else None

    def ensure_password(self) -> str:
        """Give the password, making a random one on first use.

        Raises:
            ConfigurationError: there is data of a Neo4j whose password file is gone.
        """
        known = self.password()
        if known is not None:
            return known
        if self.has_data():
            raise ConfigurationError(
                f"{self.password_file} is gone, but the database in {self.neo4j_data} needs it. "
                f"Put the file back, or move {self.neo4j} away to start with an empty database."
            )
        write_text(self.password_file, secrets.token_hex(PASSWORD_BYTES) + "\n")
        return self.ensure_password()

    def folder_key(self) -> str | None:
        """Give the key that grants are made with; None before a service ran here, or when it is not ours."""
        try:
            text = read_text(self.folder_key_file)
        except OSError:
            return None
        return text.strip() if text and text.strip() else None

    def prepare_service(self) -> None:
        """Create what a service and the commands of this home recognise each other by.

        Raises:
            OSError: the home cannot be written.
        """
        for folder in (self.path, self.run):
            make_folder(folder)
        self._ensure_id()
        if self.folder_key() is None:
            write_text(self.folder_key_file, secrets.token_hex(FOLDER_KEY_BYTES) + "\n")

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

    def service_entries(self) -> list[dict[str, Any]]:
        """Return the records that `services.announce` has written, the latest last."""
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

    def _ensure_id(self) -> None:
        if self.instance() is None:
            create_text(self.id_file, secrets.token_hex(HOME_ID_BYTES) + "\n")

    def has_data(self) -> bool:
        """Whether a Neo4j has run here: its system database exists."""
        return (self.neo4j_data / "databases" / "system").exists()

    def bolt_port(self) -> int | None:
        """Give the remembered Bolt port; None when never started."""
        return self._port("neo4j")

    def bolt_uri(self) -> str | None:
        """Give the address of the managed Neo4j; None when never started."""
        port = self.bolt_port()
        return None if port is None else f"bolt://127.0.0.1:{port}"

    def api_port(self) -> int | None:
        """Give the remembered port of the REST service; None when never started."""
        return self._port("api")

    def api_url(self) -> str | None:
        """Give the address at which this machine reaches the REST service; None when never started."""
        port = self.api_port()
        host = read_json(self.ports_file).get("api_host", "127.0.0.1")
        return None if port is None else f"http://{host}:{port}"

    def remember(self, **entries: int | str) -> None:
        """Keep ports (`neo4j`, `api`) and `api_host` for the next start."""
        write_json(self.ports_file, read_json(self.ports_file) | entries)

    def _port(self, role: str) -> int | None:
        port = read_json(self.ports_file).get(role)
        return port if isinstance(port, int) else None


# Log files that processes append to: kept small, and read from their end.

MAX_BYTES = 10 * 1024 * 1024


def limit(path: Path, max_bytes: int = MAX_BYTES) -> bool:
    """Move what a log holds to `<name>.1` when it is over `max_bytes`; whether that was done.

    The file itself stays, since a running process appends to it: a line written in between may be lost.
    """
    try:
        if path.stat().st_size <= max_bytes:
            return False
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        with path.open("r+b") as file:
            file.truncate(0)
    except OSError:  # there is none, or no room for the copy
        return False
    return True


def tail(path: Path, lines: int) -> list[str]:
    """Give the last lines of a log; none when there is no such file."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=lines)]
    except FileNotFoundError:
        return []


def telling(paths: Iterable[Path], markers: Sequence[str] = (), lines: int = 6, search: int = 200) -> str:
    """Give the lines that say why a process died: the last marked ones, or the last ones of all.

    Args:
        paths: its logs; the most telling first.
        markers: words that mark a telling line.
        lines: how many to give of each log.
        search: how many lines from the end are looked at.
    """
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
_TRIED = 50


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen there now."""
    try:
        _bind(host, port).close()
    except OSError:
        return False
    return True


def listen_on(host: str, port: int) -> socket.socket:
    """Return a socket that listens: from now on no other process can take the port.

    Raises:
        OSError: EADDRINUSE if another process has the port.
    """
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


def free_port() -> int:
    """Give a port that nobody listens on at the moment."""
    for port in random.sample(_BELOW_EPHEMERAL, _TRIED):
        if is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def choose_port(
    *, wanted: int | None, remembered: int | None, default: int, variable: str, host: str = LOOPBACK
) -> int:
    """Pick a port: the wanted one; else the one of last time, the default, or any that is free.

    Args:
        wanted: what the settings ask for; None leaves the choice.
        remembered: the port of the last start.
        default: the well-known port.
        variable: the environment variable that sets `wanted`, for the message.
        host: the address that will be listened on.

    Raises:
        ConfigurationError: the wanted port is taken; the message names the variable and who has the port.
    """
    if wanted is None:
        return (
            next((port for port in (remembered, default) if port and is_free(port, host)), None)
            or free_port()
        )
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
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:2] == (port,)
            if listens and connection.pid:
                return psutil.Process(connection.pid)
    except psutil.Error:  # macOS shows other users' sockets to root only
        pass
    return None


def _home_of(process: psutil.Process | None) -> str | None:
    """The home of a process of kg; one that serves beside it has other arguments, and it as its parent."""
    if process is None or not any("kg_cli" in each or each.endswith("/kg") for each in process.cmdline()):
        return None
    return process.environ().get("KG_HOME", "of this user")


def _answers(port: int, host: str) -> bool:
    try:
        socket.create_connection((host, port), timeout=0.5).close()
    except OSError:
        return False
    return True


# Asking the REST service on this machine how it is, with the standard library alone.

MAX_READ = 8_000_000
"""Bytes of an answer."""
OUTDATED: Final = (
    "an older version of kg started the service of the home {home}. Run `kg down`, then `kg up`. Nothing was "
    "changed."
)


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
    outdated: bool = False
    """Whether an older version of kg started it, which does not prove its home."""


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
    instance = home and home.instance()
    try:
        return _understand(*exchange(url, "/ready", sent, timeout=timeout, instance=instance))
    except TimeoutError:
        return ApiAnswer(
            reached=False,
            waiting_for=f"the service at {url}, which did not answer within {timeout:g} s; it may be busy",
            slow=True,
        )
    except OtherHomeError:
        port = urlsplit(url).port or 0
        if home and is_held_by_kg_of(home.path, port):
            waiting_for = "`kg down` and `kg up`: an older version of kg started the service"
            return ApiAnswer(reached=False, waiting_for=waiting_for, outdated=True)
        return ApiAnswer(
            reached=False,
            waiting_for=f"the service at {url}, where {holder(port)} answers instead",
        )
    except (OSError, http.client.HTTPException):
        return ApiAnswer(reached=False, waiting_for=f"the service to answer at {url}")


def exchange(
    url: str,
    path: str,
    headers: Mapping[str, str],
    *,
    timeout: float,
    body: bytes | None = None,
    instance: str | None = None,
) -> tuple[int, bytes]:
    """Send one request, a POST where there is a body; give the status and what came, at most 8 MB of it.

    Raises:
        OtherHomeError: `instance` names another home than the one that answers.
        OSError, http.client.HTTPException: nothing answers, or not as HTTP does.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=timeout)
    try:
        method = "GET" if body is None else "POST"
        expected = {HOME_HEADER: instance} if instance else {}
        connection.request(method, f"{parts.path.rstrip('/')}{path}", body, {**headers, **expected})
        response = connection.getresponse()
        if instance and response.headers.get(HOME_HEADER) != instance:
            raise OtherHomeError(url)
        return response.status, response.read(MAX_READ)
    finally:
        connection.close()


def _understand(status: int, body: bytes) -> ApiAnswer:
    try:
        said: Any = json.loads(body)
        waiting_for = said.get("waiting_for")
    except (ValueError, AttributeError):
        return ApiAnswer(reached=True, waiting_for=f"the service, which answers HTTP {status}")
    ready = status == HTTPStatus.OK
    return ApiAnswer(
        reached=True,
        ready=ready,
        waiting_for=None if ready else str(waiting_for or "the service"),
        serves=ready or _lacks_workers_alone(said),
    )


def _lacks_workers_alone(said: dict[str, Any]) -> bool:
    try:
        missing = {check["name"] for check in said["checks"] if not check["ok"]}
    except (KeyError, TypeError):
        return False
    return not missing.isdisjoint({"worker", "processes"}) and missing <= {
        "worker",
        "model",
        "disk",
        "processes",
    }


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
        """Send a signal; nothing happens when the process is gone."""
        if process := self._process():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; whether it came in time."""
        deadline = time.monotonic() + seconds
        while (alive := self.alive()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return not alive

    def end(self, grace_seconds: float) -> None:
        """Ask it to stop, and kill it when it has not done so in time."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # one that stands still hears of its end only then
        if not self.wait(grace_seconds):
            self.kill()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait(seconds=10)

    def listens(self, port: int) -> bool:
        """Whether this very process takes connections there; yes where the system does not tell."""
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
            same = abs(process.create_time() - self.created) < CLOCK_TOLERANCE
            return process if same and not _is_dead(process) else None
        except psutil.NoSuchProcess:
            return None


def identify(pid: int) -> ProcessId | None:
    """Give the identity of a running process; None when there is none."""
    try:
        found = ProcessId(pid, psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None
    return found if found.alive() else None


def save(pid_file: Path, process: ProcessId) -> None:
    write_json(pid_file, asdict(process))


def load(pid_file: Path) -> ProcessId | None:
    """Give the live process that a pid file names; None when the file is missing, damaged or stale."""
    entry = read_json(pid_file)
    try:
        known = ProcessId(int(entry["pid"]), float(entry["created"]))
    except (KeyError, TypeError, ValueError):
        return None
    return known if known.alive() else None


def spawn(argv: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path) -> ProcessId:
    """Start a process in a session of its own, its output appended to `log`.

    Raises:
        OSError: the program or the log cannot be opened.
    """
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
    """Give the exit code of a child of this process that ended; None when it is not known."""
    _reap()
    return _exit_codes.get(process.pid)


def inherit(names: Container[str] | None = None) -> dict[str, str]:
    """Give a child our environment, or these names of it: handed on here, read in settings only."""
    return {name: value for name, value in os.environ.items() if names is None or name in names}


def find(words: Sequence[str], env: Mapping[str, str]) -> ProcessId | None:
    """Find the oldest process whose arguments include `words` and whose environment includes `env`."""
    matches = [
        ProcessId(process.pid, process.info["create_time"])
        for process in psutil.process_iter(["cmdline", "create_time"])
        if set(words) <= set(process.info["cmdline"] or ()) and _has_environment(process, env)
    ]
    alive = [match for match in matches if match.alive()]
    return min(alive, key=lambda match: match.created, default=None)


def _has_environment(process: psutil.Process, wanted: Mapping[str, str]) -> bool:
    if not wanted:
        return True
    try:
        return wanted.items() <= process.environ().items()
    except psutil.Error:
        return False


def _is_dead(process: psutil.Process) -> bool:
    """Whether only its entry is left. A JVM's first thread ends before those that still hold its files."""
    return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1


def _reap() -> None:
    """Take leave of own children that ended; they would stay as zombies."""
    for pid, child in list(_children.items()):
        code = child.poll()
        if code is not None:
            _exit_codes[pid] = code
            _children.pop(pid, None)


# A role: one process of the stack that is started, found again, waited for and ended.

POLL_SECONDS = 0.1
COMPLAINT, COMPLAINT_LINES = "kg: ", 50
"""What the error of a command begins with, and how far from the end of a log it is looked for."""
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
    marks: tuple[str, ...]
    """Arguments by which its process is recognised when the pid file is lost."""
    marks_env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Entries of the environment that tell it from the same role of another home."""
    prepare: Callable[[], None] = nothing
    """Runs before each start."""
    after: tuple[str, ...] = ()
    """Roles that must work before this one is started."""
    more_logs: tuple[Path, ...] = ()
    """Where else the reason of a death may stand."""
    markers: tuple[str, ...] = ()
    """Words that mark the telling lines of its logs; without any, the last lines tell."""
    grace_seconds: float = 30
    blocked: Callable[[], str | None] = nothing
    """What it waits for before it can be started, in words for a person; None when it can."""
    broken: Callable[[], str | None] = nothing
    """Why a process that runs must be ended and started again; None while it does its work."""

    def last_words(self) -> str:
        """Give the lines of its logs that say why it died."""
        return telling([*self.more_logs, self.log], self.markers)


def running(role: Role) -> ProcessId | None:
    """Give the role's live process, found by its pid file or, when that is lost, by its arguments."""
    known = load(role.pid_file)
    if known is None and (known := find(role.marks, role.marks_env)) and role.cwd.exists():
        _remember(role, known)
    return known


def start(role: Role) -> ProcessId:
    """Start the role's process, detached; one that runs already is adopted.

    Raises:
        ManagedProcessError: the program cannot be run.
        ConfigurationError: what it needs cannot be prepared.
    """
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
    _remember(role, process)
    return process


def _remember(role: Role, process: ProcessId) -> None:
    """Write the pid file; on a full disk there is none, and the process is found by its arguments."""
    with contextlib.suppress(OSError):
        save(role.pid_file, process)


def wait(role: Role, process: ProcessId, *, timeout: float, on_wait: OnWait | None = None) -> None:
    """Wait until the role works.

    Raises:
        ManagedProcessError: its process died, with the last words of its logs, or the time is up.
    """
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
    """End the role's process, gracefully if it can; whether one ran.

    Args:
        role: whose process.
        grace_seconds: how long it may take for its end, if not as long as usual.
    """
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
    return f"{role.name} died{ended}. Its log {role.log} ends with:\n{role.last_words() or '(nothing)'}"


# The record of the services of a home, which commands read to find them. A home can have several at once.


def announce(home: Home, host: str, port: int) -> None:
    """Record that this process serves a home; records of services that have died are removed.

    Raises:
        OSError: the home cannot be written.
    """
    home.prepare_service()
    me = identify(os.getpid())
    with _changing(home):
        others = [each for each in home.service_entries() if _runs(each) and each.get("port") != port]
        mine = {"host": host, "port": port, **(asdict(me) if me else {})}
        write_json(home.service_file, {"services": [*others, mine]})


def withdraw(home: Home) -> None:
    """Remove the record of this process if another service of the home runs.

    Raises:
        OSError: the home cannot be written.
    """
    with _changing(home):
        entries = home.service_entries()
        others = [each for each in entries if _runs(each) and each.get("pid") != os.getpid()]
        if others:
            write_json(home.service_file, {"services": others})


def _runs(entry: dict[str, Any]) -> bool:
    try:
        return ProcessId(int(entry["pid"]), float(entry["created"])).alive()
    except (KeyError, TypeError, ValueError):
        return False


def _changing(home: Home) -> filelock.BaseFileLock:
    return filelock.FileLock(home.run / "service.lock")
