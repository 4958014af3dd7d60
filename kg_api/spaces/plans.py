"""Embedding plans of the texts and images of each ontology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from kg_api.errors import Conflict, NotFound, Unavailable
from kg_api.graph import library
from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.names import report_unknown_ontology
from kg_api.graph.reach import is_visible
from kg_api.graph.spaces import (
    Fingerprint,
    Layout,
    Space,
    StoredConfiguration,
    hold_configurations,
    hold_spaces,
    read_configurations,
    read_spaces,
    write_configuration,
)
from kg_api.graph.targets import KINDS, MAIN_KINDS, Plan, build_plan
from kg_api.graph.vectors import count_missing_embeddings
from kg_api.providers.embedding_port import describe_unknown_languages
from kg_api.schemas.documents import OntologySummary
from kg_api.schemas.vocabulary import EmbeddedKind, Modality
from kg_api.suggestions import describe_unknown_ontology


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """The target configuration of an ontology, and the active plans until it is complete."""

    ontology: str
    configured: StoredConfiguration
    texts: tuple[Plan, ...]  # maintained plans for sources: active first, target last
    images: tuple[Plan, ...]
    """Maintained plans for images in the same order. Empty without a registered image space."""

    @property
    def identity(self) -> tuple[StoredConfiguration, list[Fingerprint]]:
        """A value that changes with the stored configuration and with the models."""
        return self.configured, [plan.mark for plan in (*self.texts, *self.images)]

    @property
    def target(self) -> Plan:
        return self.texts[-1]

    @property
    def answering(self) -> Plan:
        return self.texts[0]

    @property
    def serving(self) -> Plan | None:
        """The active plan while the target is under construction. None: the target is active."""
        return self.texts[0] if len(self.texts) > 1 else None

    def plans(self, kind: EmbeddedKind) -> list[Plan]:
        """Return the maintained plans of a kind: active first, target last."""
        if kind in MAIN_KINDS.values():
            return [*(self.texts if kind == "source" else self.images)]
        spaces = {plan.space.slug: plan.space.at("") for plan in self.texts}  # independent of chunking
        return [
            build_plan(
                self.ontology,
                self.target.config,
                space,
                label,
                answering=self.answering.space.at(""),
                wants_all=kind != "concept" or self.configured.wants_concepts,
            )
            for space in spaces.values()
            for label in KINDS[kind].labels
        ]

    def targets(self, kind: EmbeddedKind) -> list[Plan]:
        plans = self.plans(kind)
        return [plan for plan in plans if plan.space.key == plans[-1].space.key]

    @property
    def counted(self) -> Row:
        """Parameters for queries that count the ontology's sources."""
        return {
            "ontology": self.ontology,
            "space": self.answering.space.slug,
            **self.target.mark.parameters(),
            "answering_property": self.answering.mark.key,
            "building": self.serving is not None,
        }


def get_embedded_kinds(modality: Modality) -> list[EmbeddedKind]:
    return [name for name, kind in KINDS.items() if kind.modality == modality]


def build_embedding_state(
    ontology: str, configured: StoredConfiguration, spaces: Mapping[str, Space]
) -> EmbeddingState:
    answering = configured.texts.answering
    if missing := [layout.space for layout in configured.texts.kept_up if layout.space not in spaces]:
        raise Unavailable(
            f"the embedding space {missing[0]!r} is in use but not registered. The next start "
            "registers the space of the settings: kg down, kg up"
        )

    def plan(layout: Layout) -> Plan:
        config = layout.config(embed_on_ingest=configured.embed_on_ingest)
        first = spaces[answering.space].at(answering.slot)
        return build_plan(ontology, config, spaces[layout.space].at(layout.slot), answering=first)

    # Without a previous start with images, no image space exists
    seen = [layout for layout in configured.images.kept_up if layout.space in spaces]
    images = [
        build_plan(
            ontology,
            layout.config(embed_on_ingest=configured.embed_on_ingest),
            spaces[layout.space],
            "Image",
            answering=spaces[seen[0].space],
        )
        for layout in seen
    ]
    return EmbeddingState(ontology, configured, tuple(map(plan, configured.texts.kept_up)), tuple(images))


def read_embedding_states(graph: Graph, name: str | None = None) -> dict[str, EmbeddingState]:
    """Return the visible ontologies sorted by name, or the one with this name."""
    configurations = read_configurations(graph, name)  # read first: then all their spaces exist
    seen = {ontology: each for ontology, each in configurations.items() if is_visible(ontology)}
    spaces = read_spaces(graph)
    return {ontology: build_embedding_state(ontology, each, spaces) for ontology, each in seen.items()}


def list_ontologies(graph: Graph) -> list[OntologySummary]:
    """Return the visible ontologies with their counts, and notes on unsupported languages."""
    states = read_embedding_states(graph)
    found = library.list_ontologies(graph, [each.counted for each in states.values()])
    models = {name: each.answering.space.identity.model for name, each in states.items()}
    return [
        each.model_copy(update={"notes": describe_unknown_languages(models[each.ontology], each.languages)})
        for each in found
    ]


def read_embedding_state(graph: Graph, ontology: str) -> EmbeddingState:
    embedding_states = read_embedding_states(graph, ontology)
    if ontology not in embedding_states:
        raise report_unknown_ontology(graph, ontology)
    return embedding_states[ontology]


def find_searchable(graph: Graph, ontology: str, document_ids: Sequence[str]) -> list[str]:
    """Find the documents whose embedding is complete, so that vector search finds them."""
    marked = read_embedding_state(graph, ontology).answering.mark.key
    parameters = {"ontology": ontology, "document_ids": list(document_ids), "property": marked}
    return [row["document_id"] for row in graph.read("documents/searchable", **parameters)]


def select_embedding_states(graph: Graph, names: Sequence[str] | None) -> list[EmbeddingState]:
    """Select the states of the named ontologies. None: all."""
    embedding_states = read_embedding_states(graph)
    if unknown := [name for name in names or () if name not in embedding_states]:
        raise NotFound(
            f"{describe_unknown_ontology(unknown, embedding_states)}. `kg ontologies` lists the existing ones"
        )
    return [embedding_states[name] for name in (embedding_states if names is None else names)]


# Activation of the space under construction, in one transaction

log = structlog.get_logger()


def count_unbuilt_items(tx: Transaction, state: EmbeddingState, kind: EmbeddedKind) -> tuple[int, int]:
    """Count active items that the new space lacks: not yet built, and rejected."""
    counts = [count_missing_embeddings(tx, plan.build_query()) for plan in state.targets(kind)]
    return sum(behind for behind, _ in counts), sum(refused for _, refused in counts)


def report_other_change(ontology: str) -> Conflict:
    return Conflict(f"{ontology} was reconfigured in the meantime: check, and try again")


def activate(
    tx: Transaction, states: Sequence[EmbeddingState], modality: Modality, *, accept_rejected: bool = False
) -> None:
    """Activate the target spaces of ontologies, all or none."""
    hold_spaces(tx, [each.configured.get_use(modality).target.space for each in states])
    held = hold_configurations(tx, [each.ontology for each in states])
    for state in states:
        name, configured = state.ontology, state.configured
        activated = configured.with_use(modality, configured.get_use(modality).with_activation())
        if held.get(name) not in (configured, activated):  # a repeated transaction finds its own result
            raise report_other_change(name)
        for kind in get_embedded_kinds(modality):
            behind, refused = count_unbuilt_items(tx, state, kind)
            if behind:
                raise Conflict(f"{name} is not complete: {behind} {KINDS[kind].plural} are not built yet")
            if refused and kind == MAIN_KINDS[modality] and not accept_rejected:
                raise Conflict(f"{name}: {describe_rejected(refused, kind)}")
        write_configuration(tx, name, activated)


def describe_rejected(refused: int, kind: EmbeddedKind = "source") -> str:
    where = " The list of rejected sources shows the reasons." if kind == "source" else ""
    return (
        f"the new model rejects {refused} {KINDS[kind].plural} that are searchable now.{where} To "
        "activate the space anyway, pass --accept-rejected"
    )


def activate_complete(graph: Graph, state: EmbeddingState, modality: Modality) -> bool:
    """Activate a complete target if it activates automatically. Return whether it is active."""
    use = state.configured.get_use(modality)
    if use.serving is None or not use.activates:
        return False
    try:
        graph.transaction(lambda tx: activate(tx, [state], modality))
    except Conflict as error:  # the next round or the reconfiguring user resolves the conflict
        log.info("not activated", ontology=state.ontology, reason=str(error))
        return False
    log.info("activated", ontology=state.ontology, space=use.target.key)
    return True
