"""Settings of the REST service, of reading files and of keeping them; settings.py reads them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from kg_api.machine import cores, memory_bytes, service_processes
from kg_api.sections import Seconds, Section

MIB = 1024 * 1024
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")


def split_list(value: str | None) -> tuple[str, ...]:
    """The parts of a setting that has commas between them."""
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


class ApiSettings(Section):
    """The REST service."""

    host: str = Field(
        default="127.0.0.1",
        description="Address the service listens on; the default is reachable from this machine only.",
    )
    port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="Port the service listens on; unset: 8420, or a free port if that is taken.",
    )
    processes: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description=(
            "Number of processes that serve requests on that port; unset: one per core up to 4, beyond that "
            "three of four cores, at most 12, if they fit into a sixteenth of the memory. "
            "The limits of this section are shared out among them."
        ),
    )
    allowed_hosts: str | None = Field(
        default=None,
        description=(
            "Comma-separated host names and addresses that clients use to reach the "
            "service; required when KG_API__HOST is not a loopback address. "
            "`localhost` and loopback addresses are always allowed."
        ),
    )
    require_keys: bool | None = Field(
        default=None,
        description=(
            "Whether nobody is answered without an API key (`kg admin keys create`); unset: where "
            "KG_API__HOST is not a loopback address, and there it cannot be false. Set it behind a proxy. "
            "A key that is sent is checked all the same."
        ),
    )
    root_path: str | None = Field(
        default=None,
        pattern=r"^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$",
        description=(
            "Path below which a reverse proxy serves kg, such as `/kg`; the proxy may remove the path from "
            "requests or keep it. Unset: none, or the `X-Forwarded-Prefix` of a proxy on this machine or in "
            "`FORWARDED_ALLOW_IPS`."
        ),
    )
    requests_per_minute: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description=(
            "Requests that one API key may send a minute, to each process of the service; beyond it: 429. "
            "Unset: no limit."
        ),
    )
    provider_tokens_per_day: int | None = Field(
        default=None,
        ge=1,
        le=10**12,
        description=(
            "Tokens that providers may read and write in a day (UTC) for the searches and questions of one "
            "API key, by each process of the service; beyond it: 429. What workers embed and extract is not "
            "counted. Unset: no limit."
        ),
    )
    allowed_origins: str | None = Field(
        default=None,
        description=(
            "Comma-separated origins of other web pages that may call the service, "
            "such as `https://app.example.org`."
        ),
    )
    max_document_bytes: int = Field(default=64 * MIB, gt=0, description="Maximum size of a document.")
    max_request_bytes: int = Field(
        default=1 * MIB, gt=0, description="Maximum size of any other request body."
    )
    max_connections: int = Field(
        default=1000,
        ge=1,
        le=100_000,
        description=(
            "Maximum number of open connections; beyond it, the one that has gone "
            "longest without a complete request is closed. Lower where the limit on "
            "open files is low."
        ),
    )
    header_seconds: Seconds = Field(
        default=10, description="Time limit for receiving the headers of a request."
    )
    idle_seconds: Seconds = Field(default=5, description="How long an idle connection is kept open.")
    stall_seconds: Seconds = Field(
        default=20,
        description=(
            "A transfer that stays slower than KG_API__MIN_BYTES_PER_SECOND for this long is aborted."
        ),
    )
    min_bytes_per_second: int = Field(
        default=500,
        ge=0,
        le=1_000_000_000,
        description="Minimum transfer rate of request and response bodies; 0: no minimum.",
    )
    backlog_seconds: Seconds = Field(
        default=120,
        description="`/ready` fails if a job has waited longer than this and no worker is running.",
    )
    event_streams: int = Field(
        default=50, ge=0, le=10_000, description="Maximum number of concurrent Server-Sent Events streams."
    )

    @field_validator("root_path")
    @classmethod
    def _without_final_slash(cls, value: str | None) -> str | None:
        return (value or "").rstrip("/") or None

    @field_validator("allowed_hosts")
    @classmethod
    def _host_names(cls, value: str | None) -> str | None:
        if not all(map(_HOST.fullmatch, split_list(value))):
            raise ValueError("takes comma-separated host names or addresses, without scheme or port")
        return value

    @field_validator("allowed_origins")
    @classmethod
    def _web_pages(cls, value: str | None) -> str | None:
        if not all(map(_ORIGIN.fullmatch, split_list(value))):
            raise ValueError("takes comma-separated origins such as https://app.example.org")
        return value

    @property
    def process_count(self) -> int:
        """How many processes serve requests."""
        return self.processes or service_processes(cores(), memory_bytes())

    def share(self, most: int) -> int:
        """Of something that all processes may have so much of: what is one's; none where there is none."""
        return -(-most // self.process_count)

    @property
    def allowed_host_names(self) -> tuple[str, ...]:
        """The hosts one by one; addresses of IPv6 without brackets, as requests are compared."""
        return tuple(each.strip("[]").lower() for each in split_list(self.allowed_hosts))

    @property
    def allowed_web_pages(self) -> tuple[str, ...]:
        return split_list(self.allowed_origins)


class ConversionSettings(Section):
    """Files that are no plain text are read in processes apart."""

    processes: int = Field(
        default=2, ge=1, le=64, description="Files converted at once, by each process of the service."
    )
    max_seconds: Seconds = Field(default=120, description="Time limit for converting one file.")
    max_memory_mb: int = Field(
        default=2048,
        ge=512,
        le=1_048_576,
        description="Memory limit of a converting process, in MiB.",
    )
    ocr: Literal["auto", "off", "tesseract", "rapidocr"] = Field(
        default="auto",
        description=(
            "What reads pages of PDFs that have no readable text: `tesseract` (a program), `rapidocr` "
            "(the extra `ocr`), `auto` (the first of the two that is installed) or `off`. A page takes "
            "seconds."
        ),
    )
    ocr_languages: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_]+(/[A-Za-z_]+)?(\+[A-Za-z_]+(/[A-Za-z_]+)?){0,7}$",
        description=(
            "Languages of such pages as tesseract names them, such as `eng+deu`; unset: up to three that are "
            "installed, English first. `rapidocr` knows Latin, Chinese and Japanese letters at once."
        ),
    )
    ocr_max_pages: int = Field(
        default=200, ge=1, le=10_000, description="Pages of one file that OCR reads at most."
    )
    ocr_max_seconds: Seconds = Field(
        default=300, description="Time for OCR of one file; pages that are left then are told of."
    )
    ocr_max_megapixels: float = Field(
        default=10,
        ge=1,
        le=100,
        description="Size of the picture that a page is drawn as for OCR; 200 dpi where that is less.",
    )
    ocr_images: bool = Field(
        default=True,
        description="Whether OCR also reads pictures that are documents of their own (PNG, JPEG, ...).",
    )
    images_within: bool = Field(
        default=True,
        description=(
            "Whether pictures within documents (PDF, EPUB, DOCX, HTML and others) become sources too."
        ),
    )
    image_max_megapixels: float = Field(
        default=100, gt=0, le=1000, description="Size of a picture that is read at most."
    )
    image_keep_place: bool = Field(
        default=False,
        description=(
            "Whether pictures are stored as they came, with the place where they were taken, which is "
            "metadata, too; otherwise only what shows them rightly is stored, and words and dates."
        ),
    )

    def of_one_process(self) -> ConversionSettings:
        """The same, one file at a time."""
        return self.model_copy(update={"processes": 1})


class S3Settings(Section):
    """Pictures and PDFs in a bucket instead of a folder.

    Its keys are read where all tools of S3 read them: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
    AWS_SESSION_TOKEN, or what the machine itself is given.
    """

    bucket: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
        description=(
            "Bucket of an S3-compatible store for pictures, their thumbnails and PDFs, instead of a folder "
            "(the extra `s3`). Its keys are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        ),
    )
    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/@?#\\]+/?$",
        description="URL of the store, such as `https://s3.example.org:9000`; unset: Amazon's by region.",
    )
    region: str = Field(
        default="us-east-1",
        pattern=r"^[a-z0-9-]+$",
        description="Region of the bucket; stores other than Amazon's mostly take any.",
    )
    prefix: str = Field(
        default="",
        pattern=r"^([A-Za-z0-9!_.*'()-]+(/[A-Za-z0-9!_.*'()-]+)*/?)?$",
        description="What the keys of all files begin with, such as `kg/`, where others use the bucket, too.",
    )
    seconds: Seconds = Field(default=60, description="Time limit for putting or getting one file.")


class BlobSettings(Section):
    """Where pictures and PDFs are kept."""

    s3: S3Settings = S3Settings()

    folder: Path | None = Field(
        default=None,
        description=(
            "Folder for pictures, their thumbnails and PDFs, shared by the service and its workers; unset: "
            "`blobs` below KG_HOME, where `kg admin backup` copies it; another folder is not in a backup."
        ),
    )
    keep_pdfs: bool = Field(
        default=True,
        description=(
            "Whether PDFs that are ingested are kept as they came, too: there are no pictures of "
            "their pages without them."
        ),
    )


DEFAULT_CONVERSION = ConversionSettings()
"""As they are where nobody has changed them."""
