"""What a service gives out of an ontology, page by page; a large document comes in parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kg_api.bundle.folder import keys_of
from kg_api.bundle.lines import read_lines
from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.models.bundle.lines import SOURCES_A_PART, BundledConcepts, BundledDocument, BundledVectors
from kg_api.models.bundle.manifest import BundledOntology
from kg_api.web.limits.json_bounds import check_bounds
from kg_cli.jobs.waiting import patiently

if TYPE_CHECKING:
    from kg_api.client import KgClient


class EmbeddedOtherwise(Exception):
    """The ontology is embedded in another way since its configuration was asked for."""


class ChangedBetweenParts(Exception):
    """A document was changed between two parts of it."""


@dataclass(frozen=True, slots=True)
class ExportedPage:
    """Lines of documents."""

    lines: bytes
    documents: list[BundledDocument]
    keys: list[str]
    """Of the files that they need."""

    @property
    def large(self) -> BundledDocument | None:
        """The document that comes in parts, if there is one."""
        last = self.documents[-1]
        return last if last.sources > SOURCES_A_PART else None


class OntologyPages:
    """The documents of an ontology, which is embedded in one way.

    Args:
        client: of the service that has them.
        configuration: of the ontology.
    """

    def __init__(self, client: KgClient, configuration: BundledOntology) -> None:
        self._client = client
        self._ontology = configuration.ontology
        self._mark = configuration.mark

    def behind(self, name: str) -> ExportedPage | None:
        """The next documents behind one.

        Raises:
            Conflict: the ontology has gone.
            EmbeddedOtherwise: not as it is configured.
        """
        lines = self._ask(name)
        documents, keys = list[BundledDocument](), dict[str, None]()
        for line in read_lines(lines, check_bounds) if lines else ():
            keys.update(dict.fromkeys(keys_of(line)))
            if isinstance(line, BundledDocument):
                documents.append(line)
            elif isinstance(line, BundledVectors):
                self._require_same(line)
        if lines and not documents:
            raise InvalidInput("the service answered with lines that are of no document")
        return ExportedPage(lines, documents, [*keys]) if documents else None

    def parts(self, name: str, large: BundledDocument) -> Iterator[bytes]:
        """What is made of the sources of a document behind one, some after the other.

        Raises:
            Conflict: the ontology has gone.
            EmbeddedOtherwise: not as it is configured.
            ChangedBetweenParts: it is not what it was when its own lines were read.
        """
        for first in range(0, large.sources, SOURCES_A_PART):
            lines = self._ask(name, large.content_hash, first)
            for line in read_lines(lines, check_bounds) if lines else ():
                if isinstance(line, BundledVectors):
                    self._require_same(line)
                if not isinstance(line, BundledVectors | BundledConcepts) or line.document != large.document:
                    raise ChangedBetweenParts
            yield lines

    def _ask(self, name: str, content_hash: str | None = None, first: int | None = None) -> bytes:
        ask = partial(self._client.export_documents, self._ontology, after=name)
        try:
            return patiently(partial(ask, content_hash=content_hash, first=first))
        except NotFound:
            raise Conflict(
                f"{self._ontology} was deleted while it was exported: what is there of the bundle never "
                "gets whole; export to another folder"
            ) from None
        except Conflict:
            raise ChangedBetweenParts from None

    def _require_same(self, line: BundledVectors) -> None:
        if line.mark != self._mark:
            raise EmbeddedOtherwise
