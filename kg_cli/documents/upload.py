"""Sending many files to the service, some at a time; a file that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from kg_api.client import KgClient
from kg_api.errors import KgError, Unavailable
from kg_api.models.library.documents import Ingested
from kg_api.parse.files import FileToIngest
from kg_cli.jobs.waiting import patiently

T = TypeVar("T")

PARALLEL_UPLOADS = 2
"""Parsing and storing keep two cores busy; more only waits."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What became of one file: either of the two is set."""

    file: FileToIngest
    ingested: Ingested | None = None
    problem: str | None = None


def upload(client: KgClient, files: Sequence[FileToIngest], ontology: str) -> Iterator[Uploaded]:
    """Send files in order and give each one's outcome as it comes.

    Raises:
        KgError: the service stays away or refuses everything; what came before is stored.
    """
    with ThreadPoolExecutor(PARALLEL_UPLOADS) as pool:
        yield from pool.map(partial(_upload_one, client, ontology), files)  # an error cancels the others


def send_file(send: Callable[..., T], file: FileToIngest, ontology: str) -> T:
    """Send a file's content with what is known of it, again while the service is away.

    Raises:
        OSError: it cannot be read.
        KgError: as the call raises.
    """
    content, uri = file.path.read_bytes(), file.path.resolve().as_uri()
    return patiently(partial(send, content, ontology=ontology, document=file.document, uri=uri))


def _upload_one(client: KgClient, ontology: str, file: FileToIngest) -> Uploaded:
    try:
        ingested = send_file(client.ingest_bytes, file, ontology)
    except OSError as error:
        return Uploaded(file, problem=f"cannot be read: {error.strerror or error}")
    except Unavailable:
        raise
    except KgError as error:
        return Uploaded(file, problem=str(error))
    return Uploaded(file, ingested=ingested)
