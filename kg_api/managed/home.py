"""The folder that holds everything of the managed parts: KG_HOME."""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from kg_api.errors import ConfigurationError
from kg_api.managed import files

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
                files.make_folder(folder)
            files.make_folder(self.metrics)
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
        text = files.read_text(self.password_file)
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
        files.write_text(self.password_file, secrets.token_hex(PASSWORD_BYTES) + "\n")
        return self.ensure_password()

    def folder_key(self) -> str | None:
        """Give the key that grants are made with; None before a service ran here, or when it is not ours."""
        try:
            text = files.read_text(self.folder_key_file)
        except OSError:
            return None
        return text.strip() if text and text.strip() else None

    def prepare_service(self) -> None:
        """Create what a service and the commands of this home recognise each other by.

        Raises:
            OSError: the home cannot be written.
        """
        for folder in (self.path, self.run):
            files.make_folder(folder)
        self._ensure_id()
        if self.folder_key() is None:
            files.write_text(self.folder_key_file, secrets.token_hex(FOLDER_KEY_BYTES) + "\n")

    def instance(self) -> str | None:
        """Return the id that a service of this home shows to its commands; None before the first start.

        It proves nothing and grants nothing: it keeps a command from the service of another home. The path
        is part of it, because a copy of a home is another home.
        """
        try:
            text = files.read_text(self.id_file)
        except OSError:
            return None
        if not text:
            return None
        return hashlib.sha256(f"{text.strip()}\0{os.path.realpath(self.path)}".encode()).hexdigest()[:32]

    def service_entries(self) -> list[dict[str, Any]]:
        """Return the records that `services.announce` has written, the latest last."""
        entries: object = files.read_json(self.service_file).get("services")
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
            files.create_text(self.id_file, secrets.token_hex(HOME_ID_BYTES) + "\n")

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
        host = files.read_json(self.ports_file).get("api_host", "127.0.0.1")
        return None if port is None else f"http://{host}:{port}"

    def remember(self, **entries: int | str) -> None:
        """Keep ports (`neo4j`, `api`) and `api_host` for the next start."""
        files.write_json(self.ports_file, files.read_json(self.ports_file) | entries)

    def _port(self, role: str) -> int | None:
        port = files.read_json(self.ports_file).get(role)
        return port if isinstance(port, int) else None
