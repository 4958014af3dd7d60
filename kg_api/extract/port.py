"""What every extractor of concepts can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kg_api.graph.spaces.due import DocumentAbout, SourceText
from kg_api.models.concepts.extraction import Extraction
from kg_api.models.vocabulary import ExtractorName


class Extractor(Protocol):
    """Finds concepts in sources. Not for several threads."""

    @property
    def name(self) -> ExtractorName: ...

    @property
    def mark(self) -> str:
        """A short hash of all that decides over what it finds: version, model, prompt, limits."""
        ...

    def extract(
        self, due: Sequence[SourceText], document: Sequence[SourceText], about: DocumentAbout
    ) -> list[Extraction]:
        """Find the concepts of some sources.

        Args:
            due: the sources to read, of one document, in reading order.
            document: all sources of that document, in reading order.
            about: its title and metadata.

        Returns:
            One for each source that is due, in their order; one that cannot be read says why in `refused`.

        Raises:
            LlmUnavailable, ConfigurationError: a model does not answer; nothing is lost.
        """
        ...
