"""Which of an ontology's layouts answers: switched forth and back, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from kg_api.errors import Conflict
from kg_api.graph.concept_vectors import concepts_behind
from kg_api.graph.configuration import (
    Configured,
    Layout,
    hold_configurations,
    hold_spaces,
    layout_of,
    write_configuration,
)
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.due import count_behind
from kg_api.models.configuration import EmbeddingConfig
from kg_api.models.spaces import SECOND_SLOT
from kg_api.spaces.plans import Standing

log = structlog.get_logger()


def configured_anew(
    present: Configured | None, config: EmbeddingConfig, *, answers: bool, activates: bool
) -> Configured:
    """What is to be stored so that an ontology is embedded as configured. Pure.

    What answers now goes on to answer until the new layout is complete: in another space, or for another
    chunking in the other slot of the same space.

    Args:
        present: what is stored; None for an ontology that is not there.
        config: how it shall be.
        answers: whether anything is embedded yet that could go on to answer.
        activates: whether the new layout shall answer by itself as soon as it is complete.
    """
    wanted = layout_of(config.space, "", config.chunking)
    if present is None:
        return Configured(wanted, embed_on_ingest=config.embed_on_ingest)
    now = present.answering
    beside = wanted.space != now.space or wanted.chunking != now.chunking
    slot = now.slot if wanted.space == now.space else ""
    if not beside or not answers:
        target = replace(wanted, slot=slot)
        previous = _kept(present.previous, target)
        return Configured(
            target, previous=previous, embed_on_ingest=config.embed_on_ingest, paused=present.paused
        )
    if wanted.space == now.space:
        slot = "" if now.slot else SECOND_SLOT
    target = replace(wanted, slot=slot)
    return replace(
        present,
        target=target,
        serving=now,
        previous=_kept(present.previous, target),
        activates=activates,
        embed_on_ingest=config.embed_on_ingest,
    )


def activate(tx: Transaction, standings: Sequence[Standing], *, accept_refused: bool = False) -> None:
    """Let the targets of some ontologies answer, all at once or none.

    Args:
        tx: within which.
        standings: of the ontologies.
        accept_refused: whether sources may be lost to searches by meaning that the new model does not take.

    Raises:
        Conflict: one is not complete, or was configured anew meanwhile.
    """
    hold_spaces(tx, [each.target.space.slug for each in standings])
    held = hold_configurations(tx, [each.ontology for each in standings])
    for each in standings:
        configured = each.configured
        anew = replace(configured, serving=None, previous=configured.serving, activates=True)
        if held.get(each.ontology) not in (configured, anew):  # the second when the transaction is repeated
            raise Conflict(f"{each.ontology} was configured anew meanwhile: look again")
        behind = count_behind(tx, each.ontology, each.target.mark, each.answering.mark.key)
        if concepts := sum(concepts_behind(tx, plan) for plan in each.concept_plans):
            raise Conflict(f"{each.ontology} is not complete: {concepts} concepts are not built yet")
        if behind.behind:
            raise Conflict(f"{each.ontology} is not complete: {behind.behind} sources are not built yet")
        if behind.refused and not accept_refused:
            raise Conflict(f"{each.ontology}: {refused_told(behind.refused)}")
        write_configuration(tx, each.ontology, anew)


def refused_told(refused: int) -> str:
    """What it means that a model does not take all that answers now."""
    return (
        f"the new model does not take {refused} sources that answer now (GET /ontologies/NAME/refused says "
        "why); let it answer all the same with --accept-refused"
    )


def activate_complete(graph: Graph, standing: Standing) -> None:
    """Let a target that is complete answer, if it shall by itself."""
    if standing.serving is None or not standing.configured.activates:
        return
    try:
        graph.transaction(lambda tx: activate(tx, [standing]))
    except Conflict as error:  # the next round, or whoever configured it, sees to it
        log.info("not activated", ontology=standing.ontology, reason=str(error))
        return
    log.info("activated", ontology=standing.ontology, space=standing.target.space.key)


def turned_back(configured: Configured) -> Configured | None:
    """What is to be stored to go back: from a build to what answers, else to what answered before. Pure.

    Returns:
        None: there is nothing to go back to.
    """
    if configured.serving is not None:
        return replace(configured, target=configured.serving, serving=None, activates=True)
    if configured.previous is not None:
        return replace(configured, target=configured.previous, previous=configured.target, activates=True)
    return None


def _kept(previous: Layout | None, target: Layout) -> Layout | None:
    """What one can still go back to when vectors are made where the target's shall be."""
    same = previous is not None and (previous.space, previous.slot) == (target.space, target.slot)
    return None if same else previous
