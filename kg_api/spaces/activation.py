"""Which of an ontology's layouts answers: switched forth and back, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import structlog

from kg_api.errors import Conflict
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.spaces import (
    ImageSpaces,
    Layout,
    StoredConfiguration,
    hold_configurations,
    hold_spaces,
    layout_of,
    write_configuration,
)
from kg_api.graph.vectors import count_all_behind, count_behind
from kg_api.schemas.embedding import EmbeddingConfig
from kg_api.schemas.spaces import SECOND_SLOT
from kg_api.spaces.plans import EmbeddingState

log = structlog.get_logger()

ConfiguredT = TypeVar("ConfiguredT", StoredConfiguration, ImageSpaces)


def reconfigure(
    present: StoredConfiguration | None, config: EmbeddingConfig, *, answers: bool, activates: bool
) -> StoredConfiguration:
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
        return StoredConfiguration(wanted, embed_on_ingest=config.embed_on_ingest)
    now = present.answering
    beside = wanted.space != now.space or wanted.chunking != now.chunking
    slot = now.slot if wanted.space == now.space else ""
    if not beside or not answers:
        target = replace(wanted, slot=slot)
        previous = _keep(present.previous, target)
        return StoredConfiguration(
            target,
            previous=previous,
            embed_on_ingest=config.embed_on_ingest,
            images=present.images,
            paused=present.paused,
        )
    if wanted.space == now.space:
        slot = "" if now.slot else SECOND_SLOT
    target = replace(wanted, slot=slot)
    return replace(
        present,
        target=target,
        serving=now,
        previous=_keep(present.previous, target),
        activates=activates,
        embed_on_ingest=config.embed_on_ingest,
    )


def activate(
    tx: Transaction, embedding_states: Sequence[EmbeddingState], *, accept_refused: bool = False
) -> None:
    """Let the targets of some ontologies answer, all at once or none.

    Args:
        tx: within which.
        embedding_states: of the ontologies.
        accept_refused: whether sources may be lost to searches by meaning that the new model does not take.

    Raises:
        Conflict: one is not complete, or was configured anew meanwhile.
    """
    hold_spaces(tx, [each.target.space.slug for each in embedding_states])
    held = hold_configurations(tx, [each.ontology for each in embedding_states])
    for each in embedding_states:
        configured = each.configured
        anew = replace(configured, serving=None, previous=configured.serving, activates=True)
        _require_as_it_was(held, each, anew)
        behind = count_behind(tx, each.wanted(each.target))
        if concepts := count_behind(tx, each.concept_plans[-1].wanted()).behind:
            raise Conflict(f"{each.ontology} is not complete: {concepts} concepts are not built yet")
        if edges := count_all_behind(tx, (plan.wanted() for plan in each.target_edge_plans)):
            raise Conflict(
                f"{each.ontology} is not complete: {edges} relationships and types of them are not built yet"
            )
        if behind.behind:
            raise Conflict(f"{each.ontology} is not complete: {behind.behind} sources are not built yet")
        if behind.refused and not accept_refused:
            raise Conflict(f"{each.ontology}: {describe_refused(behind.refused)}")
        write_configuration(tx, each.ontology, anew)


def activate_images(
    tx: Transaction, embedding_states: Sequence[EmbeddingState], *, accept_refused: bool = False
) -> None:
    """Let the spaces that pictures of some ontologies are built in answer, all at once or none.

    Args:
        tx: within which.
        embedding_states: of the ontologies.
        accept_refused: whether pictures may be lost to searches that the new model does not take.

    Raises:
        Conflict: one is not complete, or was configured anew meanwhile.
    """
    hold_spaces(tx, [each.configured.images.target for each in embedding_states])
    held = hold_configurations(tx, [each.ontology for each in embedding_states])
    for each in embedding_states:
        images = each.configured.images
        images = replace(images, serving=None, previous=images.serving, activates=True)
        anew = replace(each.configured, images=images)
        _require_as_it_was(held, each, anew)
        behind = count_behind(tx, each.image_plans[-1].wanted())
        if behind.behind:
            raise Conflict(f"{each.ontology} is not complete: {behind.behind} pictures are not built yet")
        if behind.refused and not accept_refused:
            raise Conflict(f"{each.ontology}: {describe_refused(behind.refused, 'pictures')}")
        write_configuration(tx, each.ontology, anew)


def _require_as_it_was(
    held: Mapping[str, StoredConfiguration], state: EmbeddingState, anew: StoredConfiguration
) -> None:
    """Refuse to change what somebody else has; it is `anew` when the transaction is repeated."""
    if held.get(state.ontology) not in (state.configured, anew):
        raise Conflict(f"{state.ontology} was reconfigured in the meantime: check, and try again")


def describe_refused(refused: int, of: str = "sources") -> str:
    """What it means that a model does not take all that answers now."""
    where = " (GET /ontologies/NAME/refused says why)" if of == "sources" else ""
    return (
        f"the new model does not take {refused} {of} that answer now{where}; "
        "let it answer all the same with --accept-refused"
    )


def activate_complete(graph: Graph, embedding_state: EmbeddingState) -> None:
    """Let a target that is complete answer, if it shall by itself."""
    if embedding_state.serving is None or not embedding_state.configured.activates:
        return
    _activate_or_wait(graph, embedding_state, activate, embedding_state.target.space.key)


def activate_complete_images(graph: Graph, embedding_state: EmbeddingState) -> bool:
    """Let a space of pictures that is complete answer, if it shall by itself; whether it does so now."""
    images = embedding_state.configured.images
    if images.serving is None or not images.activates:
        return False
    return _activate_or_wait(graph, embedding_state, activate_images, images.target)


def _activate_or_wait(
    graph: Graph,
    embedding_state: EmbeddingState,
    switch: Callable[[Transaction, Sequence[EmbeddingState]], None],
    space: str,
) -> bool:
    try:
        graph.transaction(lambda tx: switch(tx, [embedding_state]))
    except Conflict as error:  # the next round, or whoever configured it, sees to it
        log.info("not activated", ontology=embedding_state.ontology, reason=str(error))
        return False
    log.info("activated", ontology=embedding_state.ontology, space=space)
    return True


def turn_back(configured: ConfiguredT) -> ConfiguredT | None:
    """What is to be stored to go back: from a build to what answers, else to what answered before. Pure.

    Of an ontology's texts, or of its pictures.

    Returns:
        None: there is nothing to go back to.
    """
    if configured.serving is not None:
        return replace(configured, target=configured.serving, serving=None, activates=True)
    if configured.previous is not None:
        return replace(configured, target=configured.previous, previous=configured.target, activates=True)
    return None


def _keep(previous: Layout | None, target: Layout) -> Layout | None:
    """What one can still go back to when vectors are made where the target's shall be."""
    same = previous is not None and (previous.space, previous.slot) == (target.space, target.slot)
    return None if same else previous
