"""Settings of Neo4j and of its backups; settings.py reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from kg_api.sections import Seconds, Section

OWN_ENTRIES = (
    *("server.default_", "server.bolt.", "server.http.", "server.https.", "server.directories."),
    *("dbms.security.", "server.config."),
)
"""Beginnings of names in neo4j.conf by which the managed server would be elsewhere, or open to others."""


class Neo4jSettings(Section):
    """Where Neo4j is. Without `uri`, kg runs its own managed local one."""

    uri: str | None = Field(
        default=None,
        pattern=r"^(neo4j|bolt)(\+s|\+ssc)?://[^@]+$",
        description=(
            "URI of an external Neo4j, such as `bolt://host:7687`, without a password; unset: kg runs its "
            "own."
        ),
    )
    user: str = Field(default="neo4j", description="Username for `KG_NEO4J__URI`.")
    password: SecretStr | None = Field(default=None, description="Password for `KG_NEO4J__URI`; required.")
    database: str = Field(default="neo4j", description="Name of the database.")
    connection_seconds: Seconds = Field(
        default=5,
        description=(
            "Age at which a connection to Neo4j is replaced instead of used again; set it below the time "
            "after which a firewall in between forgets idle connections."
        ),
    )
    port: int | None = Field(default=None, ge=1, le=65535, description="Bolt port of the managed Neo4j.")
    heap_mb: int | None = Field(default=None, ge=256, description="Heap size of the managed Neo4j, MiB.")
    pagecache_mb: int | None = Field(default=None, ge=64, description="Page cache of the managed Neo4j, MiB.")
    disk_reserve_mb: int = Field(
        default=64, ge=0, le=1_000_000, description="Free disk space below which writes are refused, MiB."
    )
    conf: dict[str, str] | None = Field(
        default=None,
        description=(
            'Further entries of neo4j.conf as JSON, such as `{"db.transaction.timeout": "300s"}`; they win '
            "over kg's own. Refused: addresses, folders and security, which are kg's to set."
        ),
    )
    start_timeout_seconds: Seconds = Field(default=300, description="Time limit for Neo4j to start.")

    @field_validator("conf")
    @classmethod
    def _without_ours(cls, conf: dict[str, str] | None) -> dict[str, str] | None:
        entries = (conf or {}).items()
        if ours := sorted(name for name, _ in entries if name.strip().startswith(OWN_ENTRIES)):
            raise ValueError(f"{', '.join(ours)}: kg sets that itself; leave it out")
        if not all(
            text.isprintable() and "=" not in name for name, value in entries for text in (name, value)
        ):
            raise ValueError("an entry is a name and a value on one line")
        return conf

    @model_validator(mode="after")
    def _password_with_uri(self) -> Self:
        if self.uri is not None and self.password is None:
            raise ValueError("KG_NEO4J__URI is set, so KG_NEO4J__PASSWORD must be set too")
        return self


class BackupSettings(Section):
    """Backups of the managed Neo4j and of the pictures beside it."""

    every_hours: float | None = Field(
        default=None,
        ge=0.001,
        le=8760,
        allow_inf_nan=False,
        description="`kg up` makes a backup each time so many hours have passed; unset: none.",
    )
    folder: Path | None = Field(
        default=None,
        description="Folder for backups, better on another disk; unset: `backups` below KG_HOME.",
    )
    keep: int = Field(
        default=7,
        ge=1,
        le=10_000,
        description="Number of whole backups of this home that are kept by those that `kg up` makes.",
    )
