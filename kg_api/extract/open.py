"""Which extractor an ontology has, and opening it."""

from __future__ import annotations

from kg_api.errors import ConfigurationError
from kg_api.extract.budget import LlmBudget
from kg_api.extract.keyphrase.extractor import KeyphraseExtractor
from kg_api.extract.llm import LlmExtractor, mark_of
from kg_api.extract.port import Extractor
from kg_api.graph.database import Graph
from kg_api.llm.lazy import LanguageModel
from kg_api.models.concepts.extraction import PER_SOURCE
from kg_api.models.concepts.extraction_config import ExtractionConfig, UsedExtraction
from kg_api.provider.retrying import RetryPolicy
from kg_api.settings import Settings

NO_MARK = ""
"""Of an ontology from which nothing is extracted."""


class Extractors:
    """Opens extractors; the language model's connections are opened once."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        """Nothing is opened yet."""
        self.settings = settings
        """Those it opens by."""
        self._graph = graph
        self._llm = LanguageModel(settings, RetryPolicy())

    def used(self, config: ExtractionConfig) -> UsedExtraction:
        """Fill in what an ontology's configuration leaves to the settings."""
        usual = self.settings.concepts
        extractor = config.extractor or usual.extractor
        per_source = usual.per_source if config.per_source is None else config.per_source
        return UsedExtraction(
            extractor=extractor,
            per_source=PER_SOURCE[extractor] if per_source is None else per_source,
            budget=usual.budget if config.budget is None else config.budget,
        )

    def mark(self, config: UsedExtraction) -> str:
        """The mark of an ontology's extractor, which need not be usable; "" when there is none."""
        match config.extractor:
            case "llm":
                return mark_of(self.settings.llm.model or "", config.per_source)
            case "keyphrase":
                return KeyphraseExtractor(config.per_source).mark
            case "none":
                return NO_MARK

    def open(self, ontology: str, config: UsedExtraction, job_id: str | None = None) -> Extractor | None:
        """Open an ontology's extractor, for a job; None when it has none. Nothing is asked yet.

        Raises:
            ConfigurationError: there is no language model to ask, or it has a budget and no known price.
        """
        match config.extractor:
            case "none":
                return None
            case "keyphrase":
                return KeyphraseExtractor(config.per_source)
            case "llm":
                return self._open_llm(ontology, config, job_id)

    def close(self) -> None:
        """Close the connections to the language model."""
        self._llm.close()

    def _open_llm(self, ontology: str, config: UsedExtraction, job_id: str | None) -> Extractor:
        try:
            model = self._llm.name
        except ConfigurationError as error:
            raise ConfigurationError(
                f"concepts of {ontology!r} are extracted by a language model, for the service and its "
                f"workers: {error}"
            ) from error
        budget = LlmBudget(self._graph, ontology, self.settings.llm, config.budget, job_id)
        return LlmExtractor(self._graph, model, self._llm.ask_counted, budget, config.per_source)
