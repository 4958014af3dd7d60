"""Settings of the REST service; settings.py reads them."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from kg_api.sections import Seconds, Section

MIB = 1024 * 1024
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")


def listed(value: str | None) -> tuple[str, ...]:
    """The parts of a setting that has commas between them."""
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


class ApiSettings(Section):
    """The REST service."""

    host: str = Field(default="127.0.0.1", description="Where the service listens: this machine only.")
    port: int | None = Field(default=None, ge=1, le=65535, description="Unset: 8420, or a free one.")
    allowed_hosts: str | None = Field(
        default=None,
        description="Names and addresses under which clients reach the service, `,` between them; needed "
        "where KG_API__HOST is beyond this machine. `localhost` and loopback addresses always work.",
    )
    allowed_origins: str | None = Field(
        default=None,
        description="Other web pages that may ask the service, such as `https://app.example.org`, `,` "
        "between them.",
    )
    max_document_bytes: int = Field(default=64 * MIB, gt=0, description="Largest document taken.")
    max_request_bytes: int = Field(default=1 * MIB, gt=0, description="Largest body of any other request.")
    max_connections: int = Field(
        default=1000,
        ge=1,
        le=100_000,
        description="Open connections at once; beyond, the one that has sent no whole request for longest is "
        "closed. Fewer where the limit of open files is low.",
    )
    header_seconds: Seconds = Field(
        default=10, description="How long a connection may take to send the head of a request."
    )
    idle_seconds: Seconds = Field(
        default=5, description="How long an answered connection is kept open for the next request."
    )
    stall_seconds: Seconds = Field(
        default=20,
        description="A body that comes, or an answer that is read, more slowly than "
        "KG_API__MIN_BYTES_PER_SECOND over so long is given up.",
    )
    min_bytes_per_second: int = Field(
        default=500, ge=0, le=1_000_000_000, description="The least rate of bodies and answers; 0: any."
    )
    backlog_seconds: Seconds = Field(
        default=120, description="A job that waits so long, and no worker at work, make `/ready` red."
    )
    event_streams: int = Field(
        default=50, ge=0, le=10_000, description="How many may follow jobs by Server-Sent Events at once."
    )

    @field_validator("allowed_hosts")
    @classmethod
    def _host_names(cls, value: str | None) -> str | None:
        if not all(map(_HOST.fullmatch, listed(value))):
            raise ValueError("takes names or addresses alone, no scheme, no port, `,` between them")
        return value

    @field_validator("allowed_origins")
    @classmethod
    def _web_pages(cls, value: str | None) -> str | None:
        if not all(map(_ORIGIN.fullmatch, listed(value))):
            raise ValueError("takes origins such as https://app.example.org, `,` between")
        return value

    @property
    def allowed_host_names(self) -> tuple[str, ...]:
        """The hosts one by one; addresses of IPv6 without brackets, as requests are compared."""
        return tuple(each.strip("[]").lower() for each in listed(self.allowed_hosts))

    @property
    def allowed_web_pages(self) -> tuple[str, ...]:
        """The origins one by one."""
        return listed(self.allowed_origins)
