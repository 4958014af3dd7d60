"""Bundles: what is given out, and what is taken in."""

from __future__ import annotations

from kg_api.bundle.lines import require_format
from kg_api.configure.extraction import ExtractionService
from kg_api.configure.service import ConfigurationService
from kg_api.errors import InvalidInput, KgError
from kg_api.graph.concepts.extraction_config import write_extraction
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.documents.writes import AskForExtraction
from kg_api.graph.fulltext.language import write_language
from kg_api.graph.fulltext.synonyms import write_synonyms
from kg_api.graph.proposals.configuration import write_configuration
from kg_api.graph.spaces.registry import Space, all_spaces, text_spaces
from kg_api.images.files import StoredFiles
from kg_api.models.bundle.manifest import BundledOntology, ImportOpened, OntologyToImport
from kg_api.models.embedding.spaces import FIRST_SLUG
from kg_api.moving.exporting import ExportService, schema_version
from kg_api.moving.importing import ImportService
from kg_api.spaces.first import space_of_new
from kg_api.spaces.plans import read_embedding_state, read_embedding_states
from kg_api.spaces.registry import SpaceRegistry


class MovingService:
    """Gives out and takes in what bundles hold."""

    def __init__(
        self,
        graph: Graph,
        files: StoredFiles,
        configure: ConfigurationService,
        extraction: ExtractionService,
        extract: AskForExtraction,
        *,
        spaces: SpaceRegistry,
    ) -> None:
        self._graph = graph
        self._spaces = spaces
        self._configure = configure
        self._extraction = extraction
        self.exports = ExportService(graph, files)
        self.imports = ImportService(graph, files, extract)

    def open_import(self, given: OntologyToImport) -> ImportOpened:
        """Create an ontology as a bundle has it configured, with its space; an existing one keeps its own.

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
            notes.append(_describe_other_vectors(wanted, created=created))
        return ImportOpened(ontology=wanted.ontology, created=created, takes_vectors=takes, notes=notes)

    def _create(self, wanted: BundledOntology) -> list[str]:
        name = wanted.ontology
        notes = list[str]()
        space = self._find_space(wanted, notes)
        config = wanted.embedding.model_copy(update={"space": space.slug})
        takes_extraction = True
        try:
            self._extraction.require_usable(name, wanted.extraction)
        except InvalidInput as error:
            takes_extraction = False
            notes.append(f"how concepts are extracted from {name!r} was not taken over: {error}")
        self._configure.set(
            name, config, dry_run=False, along=lambda tx: _write_all(tx, wanted, extracts=takes_extraction)
        )
        return notes

    def _find_space(self, wanted: BundledOntology, notes: list[str]) -> Space:
        """Return or create the space of the bundle's model; if that fails, the space of new ontologies."""
        spaces = text_spaces(self._graph)
        same = [each for each in spaces.values() if each.fingerprint == wanted.space_fingerprint]
        if found := next((each for each in same if not each.dropping), None):
            return found
        if wanted.space:
            slug = wanted.space.slug
            if slug == FIRST_SLUG or slug in all_spaces(self._graph):
                slug = f"imported_{wanted.space_fingerprint[:8]}"
            try:
                new = wanted.space.model_copy(update={"slug": slug})
                space = self._spaces.add(new, wanted.space_fingerprint).space
            except KgError as error:
                notes.append(f"the embedding space of {wanted.model} could not be created: {error}")
            else:
                notes.append(f"created the embedding space {slug!r} for {wanted.model}")
                return space
        return space_of_new(spaces)


def _require_known(given: OntologyToImport) -> None:
    require_format(given.format)
    if given.schema_version > schema_version():
        raise InvalidInput(
            f"the bundle is of a later kg: its database has the schema {given.schema_version}, this one "
            f"{schema_version()}; upgrade this kg first. Nothing was changed."
        )


def _describe_other_vectors(wanted: BundledOntology, *, created: bool) -> str:
    reason = (
        f"the vectors of the bundle are of {wanted.model}, and this kg embeds {wanted.ontology!r} otherwise"
    )
    if not created or not wanted.space:
        return f"{reason}: its sources are embedded again"
    new = wanted.space
    return (
        f"{reason}: its sources are embedded again. To take the vectors instead, configure the model, run "
        f"`kg delete ontology {wanted.ontology}` and `kg admin spaces create {new.slug} --provider "
        f"{new.provider} --model {new.model} --dimensions {new.dimensions}`, and import again"
    )


def _write_all(tx: Transaction, wanted: BundledOntology, *, extracts: bool) -> None:
    """All that an ontology is configured by, but for how it is embedded, in the transaction that makes it."""
    name = wanted.ontology
    write_language(tx, name, wanted.language)
    write_synonyms(tx, name, wanted.synonyms)
    write_configuration(tx, name, wanted.proposals)
    if extracts:
        write_extraction(tx, name, wanted.extraction)
