"""Changing the space of ontologies while people search: build beside, check, activate, go back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kg_api.configure.check import SpaceChecker
from kg_api.configure.embedding import EmbeddingRequests
from kg_api.configure.images.switch import ImageSwitch
from kg_api.configure.service import ConfigurationService
from kg_api.configure.switched import (
    WayBack,
    begin_again,
    present_ontologies,
    present_switched,
    require_ok,
    switch_back,
    switch_to,
)
from kg_api.errors import Conflict
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces.configuration import space_of_new
from kg_api.graph.spaces.registry import find_space
from kg_api.models.embedding.switching import (
    Build,
    SpaceBuild,
    SpaceBuilding,
    SpaceCheck,
    SpaceSwitched,
    SwitchedOntology,
)
from kg_api.spaces.activation import activate, turn_back
from kg_api.spaces.plans import EmbeddingState, read_embedding_states, select_embedding_states


class SwitchService:
    """The life of a space beside the others."""

    def __init__(
        self,
        graph: Graph,
        configure: ConfigurationService,
        requests: EmbeddingRequests,
        checker: SpaceChecker,
        images: ImageSwitch,
    ) -> None:
        """`images`: does the same for spaces of pictures."""
        self._graph = graph
        self._configure = configure
        self._requests = requests
        self._checker = checker
        self._images = images

    def build(self, slug: str, asked: SpaceBuild) -> SpaceBuilding:
        """Build the vectors of a space for ontologies, while what they have goes on to answer.

        Raises:
            NotFound: there is no such space or ontology.
            Conflict: another space is being built for one of them.
        """
        if (space := find_space(self._graph, slug)).is_of_images:
            return self._images.build(space, asked)
        chosen = select_embedding_states(self._graph, asked.ontologies)
        there = [
            each.ontology for each in chosen if {plan.space.slug for plan in each.plans} == {slug}
        ]  # a change of its chunking within the space is no build of the space
        wanted = [each for each in chosen if each.ontology not in there]
        _refuse_other_builds(slug, wanted)
        builds = [self._build(slug, each, asked) for each in wanted]
        notes = [f"{', '.join(there)}: answered by {slug} already"] if there else []
        if any(build.answering == slug for build in builds) and not asked.dry_run:
            notes.append("ontologies without any vectors use the space at once")
        if asked.dry_run:
            notes.append("nothing was changed: this is a dry run")
        return SpaceBuilding(slug=slug, builds=builds, notes=notes)

    def check(self, slug: str, ontologies: Sequence[str] | None = None) -> SpaceCheck:
        """Look whether what was built in a space can answer.

        Raises:
            NotFound: there is no such space or ontology.
        """
        if (space := find_space(self._graph, slug)).is_of_images:
            return self._images.check(space, ontologies)
        return self._checker.check(space, self._aimed_at(slug, ontologies))

    def activate(
        self, slug: str, ontologies: Sequence[str] | None = None, *, accept_refused: bool = False
    ) -> SpaceSwitched:
        """Let what was built in a space answer: all in one transaction, after a check.

        Raises:
            NotFound: there is no such space or ontology.
            Conflict: nothing is built there, or the check finds something wrong.
        """
        if (space := find_space(self._graph, slug)).is_of_images:
            return self._images.activate(space, ontologies, accept_refused=accept_refused)
        building = [
            each
            for each in self._aimed_at(slug, ontologies)
            if each.serving and (ontologies or each.serving.space.slug != slug)
        ]
        new = ontologies is None
        if not building and not (new and space_of_new(self._graph) != slug and self._serves(slug)):
            raise Conflict(
                f"nothing is being built in {slug}: begin with `kg admin spaces build {slug}`, quick "
                "where its vectors are still there"
            )
        found = self._checker.check(space, building, accept_refused=accept_refused)
        require_ok(found)

        def let_answer(tx: Transaction) -> None:
            activate(tx, building, accept_refused=accept_refused)

        seconds = switch_to(self._graph, slug, let_answer, new=new)
        switched = {each.ontology: (each.answering.space.slug, slug) for each in building}
        return present_switched(self._graph, slug, switched, seconds)

    def rollback(self, slug: str, ontologies: Sequence[str] | None = None) -> SpaceSwitched:
        """Go back to what answered before, in one transaction; a build that is not complete is given up.

        Raises:
            NotFound: there is no such space or ontology.
            Conflict: there is nothing to go back to.
        """
        if (space := find_space(self._graph, slug)).is_of_images:
            return self._images.rollback(space, ontologies)
        back = self._ways_back(slug, ontologies)
        seconds = switch_back(self._graph, slug, back, new=ontologies is None)
        notes = begin_again(self._graph, self._requests, back)
        return present_switched(self._graph, slug, _spaces(back), seconds, notes=notes)

    def preview_rollback(self, slug: str, ontologies: Sequence[str] | None = None) -> list[SwitchedOntology]:
        """What going back would switch; nothing is changed.

        Raises:
            NotFound: there is no such space or ontology.
            Conflict: there is nothing to go back to.
        """
        if (space := find_space(self._graph, slug)).is_of_images:
            return self._images.preview_rollback(space, ontologies)
        return present_ontologies(_spaces(self._ways_back(slug, ontologies)))

    def _ways_back(self, slug: str, ontologies: Sequence[str] | None) -> dict[str, WayBack]:
        back = {
            each.ontology: WayBack(each.configured, turned, turned.target.space)
            for each in self._aimed_at(slug, ontologies)
            if (turned := turn_back(each.configured)) and (ontologies or turned.target.space != slug)
        }
        if not back:
            raise Conflict(f"no ontology that uses {slug} has a previous space to roll back to")
        return back

    def _build(self, slug: str, embedding_state: EmbeddingState, asked: SpaceBuild) -> Build:
        config = embedding_state.answering.config.model_copy(update={"space": slug})
        told = self._configure.set(
            embedding_state.ontology, config, dry_run=asked.dry_run, activates=asked.activate
        )
        return Build(
            ontology=embedding_state.ontology,
            answering=told.answering.space if told.answering else slug,
            due=told.missing + told.stale,
            job_id=None if asked.dry_run else self._requests.embed(embedding_state.ontology).job_id,
            cost=told.regeneration if asked.dry_run else None,
        )

    def _aimed_at(self, slug: str, ontologies: Sequence[str] | None) -> list[EmbeddingState]:
        """What is or shall be answered by a space."""
        chosen = select_embedding_states(self._graph, ontologies)
        return [each for each in chosen if each.target.space.slug == slug]

    def _serves(self, slug: str) -> bool:
        return any(each.answering.space.slug == slug for each in read_embedding_states(self._graph).values())


def _spaces(back: Mapping[str, WayBack]) -> dict[str, tuple[str, str]]:
    """By ontology, what answers before and after."""
    return {name: (each.present.answering.space, each.space) for name, each in back.items()}


def _refuse_other_builds(slug: str, wanted: Sequence[EmbeddingState]) -> None:
    for each in wanted:
        if each.serving is not None and each.target.space.slug != slug:
            other = each.target.space.slug
            raise Conflict(
                f"{each.ontology} is being built in {other} already: wait, or cancel that with "
                f"`kg admin spaces rollback {other} --ontology {each.ontology!r}`"
            )
