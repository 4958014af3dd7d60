"""Activation of the space under construction, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from kg_api.errors import Conflict
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.spaces import hold_configurations, hold_spaces, write_configuration
from kg_api.graph.targets import KINDS, MAIN_KINDS
from kg_api.graph.vectors import count_missing_embeddings
from kg_api.schemas.vocabulary import EmbeddedKind, Modality
from kg_api.spaces.plans import EmbeddingState, get_embedded_kinds

log = structlog.get_logger()


def count_unbuilt_items(tx: Transaction, state: EmbeddingState, kind: EmbeddedKind) -> tuple[int, int]:
    """Count active items that the new space lacks: not yet built, and rejected."""
    counts = [count_missing_embeddings(tx, plan.wanted()) for plan in state.targets(kind)]
    return sum(behind for behind, _ in counts), sum(refused for _, refused in counts)


def activate(
    tx: Transaction, states: Sequence[EmbeddingState], modality: Modality, *, accept_rejected: bool = False
) -> None:
    """Activate the target spaces of ontologies, all or none."""
    hold_spaces(tx, [each.configured.of(modality).target.space for each in states])
    held = hold_configurations(tx, [each.ontology for each in states])
    for state in states:
        name, configured = state.ontology, state.configured
        anew = configured.using(modality, configured.of(modality).activated())
        if held.get(name) not in (configured, anew):  # a repeated transaction finds its own result
            raise Conflict(f"{name} was reconfigured in the meantime: check, and try again")
        for kind in get_embedded_kinds(modality):
            behind, refused = count_unbuilt_items(tx, state, kind)
            if behind:
                raise Conflict(f"{name} is not complete: {behind} {KINDS[kind].plural} are not built yet")
            if refused and kind == MAIN_KINDS[modality] and not accept_rejected:
                raise Conflict(f"{name}: {describe_rejected(refused, kind)}")
        write_configuration(tx, name, anew)


def describe_rejected(refused: int, kind: EmbeddedKind = "source") -> str:
    where = " The list of rejected sources shows the reasons." if kind == "source" else ""
    return (
        f"the new model rejects {refused} {KINDS[kind].plural} that are searchable now.{where} To "
        "activate the space anyway, pass --accept-rejected"
    )


def activate_complete(graph: Graph, state: EmbeddingState, modality: Modality) -> bool:
    """Activate a complete target if it activates automatically. Return whether it is active."""
    use = state.configured.of(modality)
    if use.serving is None or not use.activates:
        return False
    try:
        graph.transaction(lambda tx: activate(tx, [state], modality))
    except Conflict as error:  # the next round or the reconfiguring user resolves the conflict
        log.info("not activated", ontology=state.ontology, reason=str(error))
        return False
    log.info("activated", ontology=state.ontology, space=use.target.key)
    return True
