"""Bundles: what is given out, and what is taken in."""

from __future__ import annotations

from kg_api.bundle.lines import require_format
from kg_api.configure.extraction import ExtractionService
from kg_api.configure.service import ConfigurationService
from kg_api.errors import InvalidInput
from kg_api.graph.concepts.extraction_config import write_extraction
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.documents.writes import AskForExtraction
from kg_api.graph.fulltext.language import write_language
from kg_api.graph.fulltext.synonyms import write_synonyms
from kg_api.graph.proposals.configuration import write_configuration
from kg_api.graph.spaces.registry import Space, text_spaces
from kg_api.images.files import StoredFiles
from kg_api.models.bundle.manifest import BundledOntology, ImportOpened, OntologyToImport
from kg_api.moving.exporting import ExportService, schema_version
from kg_api.moving.importing import ImportService
from kg_api.spaces.first import space_of_new
from kg_api.spaces.plans import read_embedding_state, read_embedding_states


class MovingService:
    """Gives out and takes in what bundles hold."""

    def __init__(
        self,
        graph: Graph,
        files: StoredFiles,
        configure: ConfigurationService,
        extraction: ExtractionService,
        extract: AskForExtraction,
    ) -> None:
        self._graph = graph
        self._configure = configure
        self._extraction = extraction
        self.exports = ExportService(graph, files)
        self.imports = ImportService(graph, files, extract)

    def open_import(self, given: OntologyToImport) -> ImportOpened:
        """Make an ontology as a bundle has it configured; one that is there stays as it is configured.

        Raises:
            InvalidInput: the bundle is of another format, or of a later kg.
        """
        _require_known(given)
        wanted = given.configuration
        created = wanted.ontology not in read_embedding_states(self._graph, wanted.ontology)
        notes = self._create(wanted) if created else []
        state = read_embedding_state(self._graph, wanted.ontology)
        takes = wanted.mark in {plan.mark.value for plan in state.plans}
        if not takes:
            notes.append(
                f"the vectors of the bundle are of {wanted.model}, chunked as it is configured there, and "
                "others are made here: its sources are embedded anew"
            )
        return ImportOpened(ontology=wanted.ontology, created=created, takes_vectors=takes, notes=notes)

    def _create(self, wanted: BundledOntology) -> list[str]:
        name = wanted.ontology
        space = self._space_of(wanted)
        config = wanted.embedding.model_copy(update={"space": space.slug})
        notes = list[str]()
        try:
            self._extraction.require_usable(name, wanted.extraction)
        except InvalidInput as error:
            notes.append(f"how concepts are extracted from {name!r} was not taken over: {error}")
        self._configure.set(
            name, config, dry_run=False, along=lambda tx: _write_all(tx, wanted, extracts=not notes)
        )
        return notes

    def _space_of(self, wanted: BundledOntology) -> Space:
        """The space of the same model, whatever it is called; else that of new ontologies."""
        spaces = text_spaces(self._graph)
        same = [each for each in spaces.values() if each.fingerprint == wanted.space_fingerprint]
        return next((each for each in same if not each.dropping), None) or space_of_new(spaces)


def _require_known(given: OntologyToImport) -> None:
    require_format(given.format)
    if given.schema_version > schema_version():
        raise InvalidInput(
            f"the bundle is of a later kg: its database has the schema {given.schema_version}, this one "
            f"{schema_version()}; upgrade this kg first. Nothing was changed."
        )


def _write_all(tx: Transaction, wanted: BundledOntology, *, extracts: bool) -> None:
    """All that an ontology is configured by, but for how it is embedded, in the transaction that makes it."""
    name = wanted.ontology
    write_language(tx, name, wanted.language)
    write_synonyms(tx, name, wanted.synonyms)
    write_configuration(tx, name, wanted.proposals)
    if extracts:
        write_extraction(tx, name, wanted.extraction)
