"""Changing the space of pictures while people search: build beside, check, activate, go back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kg_api.configure.embedding import EmbeddingRequests
from kg_api.configure.images.check import ImageSpaceChecker
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
from kg_api.graph.images.vectors import ImagePlan, count_images
from kg_api.graph.spaces.configuration import (
    ImageSpaces,
    hold_configurations,
    hold_spaces,
    space_of_new,
    write_configuration,
)
from kg_api.graph.spaces.registry import Space, ensure_index
from kg_api.models.embedding.switching import (
    Build,
    SpaceBuild,
    SpaceBuilding,
    SpaceCheck,
    SpaceSwitched,
    SwitchedOntology,
)
from kg_api.spaces.activation import activate_complete_images, activate_images, turn_back
from kg_api.spaces.plans import EmbeddingState, read_embedding_state, select_embedding_states


class ImageSwitch:
    """The life of a space of pictures beside the others."""

    def __init__(self, graph: Graph, requests: EmbeddingRequests, checker: ImageSpaceChecker) -> None:
        self._graph = graph
        self._requests = requests
        self._checker = checker

    def build(self, space: Space, asked: SpaceBuild) -> SpaceBuilding:
        """Build the vectors of a space for ontologies, while what they have goes on to answer.

        Raises:
            NotFound: there is no such ontology.
            Conflict: another space is being built for one of them, or what it had there is being removed.
        """
        chosen = select_embedding_states(self._graph, asked.ontologies)
        there = [each.ontology for each in chosen if each.configured.images.kept_up == [space.slug]]
        wanted = [each for each in chosen if each.ontology not in there]
        for each in wanted:
            _refuse_other_build(space.slug, each)
        builds = [self._build(space, each, asked) for each in wanted]
        notes = [f"{', '.join(there)}: answered by {space.slug} already"] if there else []
        if asked.dry_run:
            notes.append("nothing was changed: this is a dry run")
        elif at_once := [build.ontology for build in builds if build.answering == space.slug]:
            notes.append(f"{', '.join(at_once)}: answered by {space.slug} from now on; nothing had to wait")
        return SpaceBuilding(slug=space.slug, builds=builds, notes=notes)

    def check(self, space: Space, ontologies: Sequence[str] | None) -> SpaceCheck:
        """Look whether what was built in a space can answer."""
        return self._checker.check(space, self._aimed_at(space.slug, ontologies))

    def activate(
        self, space: Space, ontologies: Sequence[str] | None, *, accept_refused: bool
    ) -> SpaceSwitched:
        """Let what was built in a space answer: all in one transaction, after a check.

        Raises:
            Conflict: nothing is built there, or the check finds something wrong.
        """
        slug, new = space.slug, ontologies is None
        aimed_at = self._aimed_at(slug, ontologies)
        building = [each for each in aimed_at if each.configured.images.serving is not None]
        if not building and not (new and aimed_at and space_of_new(self._graph, "image") != slug):
            raise Conflict(f"nothing is being built in {slug}: begin with `kg admin spaces build {slug}`")
        found = self._checker.check(space, building, accept_refused=accept_refused)
        require_ok(found)

        def let_answer(tx: Transaction) -> None:
            activate_images(tx, building, accept_refused=accept_refused)

        seconds = switch_to(self._graph, slug, let_answer, new=new)
        switched = {each.ontology: (each.configured.images.answering, slug) for each in building}
        return present_switched(self._graph, slug, switched, seconds, modality="image")

    def rollback(self, space: Space, ontologies: Sequence[str] | None) -> SpaceSwitched:
        """Go back to what answered before, in one transaction; a build that is not complete is given up.

        Raises:
            Conflict: there is nothing to go back to.
        """
        slug, back = space.slug, self._ways_back(space.slug, ontologies)
        seconds = switch_back(self._graph, slug, back, new=ontologies is None, modality="image")
        notes = begin_again(self._graph, self._requests, back)
        return present_switched(self._graph, slug, _spaces(back), seconds, modality="image", notes=notes)

    def preview_rollback(self, space: Space, ontologies: Sequence[str] | None) -> list[SwitchedOntology]:
        """What going back would switch; nothing is changed.

        Raises:
            Conflict: there is nothing to go back to.
        """
        return present_ontologies(_spaces(self._ways_back(space.slug, ontologies)))

    def _ways_back(self, slug: str, ontologies: Sequence[str] | None) -> dict[str, WayBack]:
        back = {
            each.ontology: WayBack(each.configured, replace(each.configured, images=turned), turned.target)
            for each in self._aimed_at(slug, ontologies)
            if (turned := turn_back(each.configured.images))
        }
        if not back:
            raise Conflict(f"no ontology that uses {slug} has a previous space of pictures to roll back to")
        return back

    def _build(self, space: Space, state: EmbeddingState, asked: SpaceBuild) -> Build:
        answering = state.configured.images.answering if self._answers(state) else space.slug
        plan = ImagePlan(state.ontology, space, space)
        counted = count_images(self._graph, [plan])
        due = counted.missing + counted.stale
        job_id = None
        if not asked.dry_run:
            ensure_index(self._graph, space)
            self._graph.transaction(lambda tx: _write_build(tx, state, space.slug, answering, asked))
            job_id = self._requests.embed_images(state.ontology)
            now = read_embedding_state(self._graph, state.ontology)
            activated = activate_complete_images(self._graph, now)
            answering = space.slug if activated else now.configured.images.answering
        cost = self._requests.cost_of_images(space, due) if asked.dry_run else None
        return Build(ontology=state.ontology, answering=answering, due=due, job_id=job_id, cost=cost)

    def _answers(self, state: EmbeddingState) -> bool:
        """Whether any of its pictures has a vector that could go on to answer."""
        counted = count_images(self._graph, state.image_plans[:1])
        return counted.embedded + counted.stale > 0

    def _aimed_at(self, slug: str, ontologies: Sequence[str] | None) -> list[EmbeddingState]:
        """What is or shall be answered by a space."""
        chosen = select_embedding_states(self._graph, ontologies)
        return [each for each in chosen if each.configured.images.target == slug]


def _spaces(back: Mapping[str, WayBack]) -> dict[str, tuple[str, str]]:
    """By ontology, what answers before and after."""
    return {name: (each.present.images.answering, each.space) for name, each in back.items()}


def _write_build(
    tx: Transaction, state: EmbeddingState, slug: str, answering: str, asked: SpaceBuild
) -> None:
    hold_spaces(tx, [slug])
    held = hold_configurations(tx, [state.ontology]).get(state.ontology)
    before = state.configured.images.previous
    images = ImageSpaces(
        slug,
        serving=None if answering == slug else answering,
        previous=None if before == slug else before,
        activates=asked.activate or answering == slug,
    )
    anew = replace(state.configured, images=images)
    if held is not None and slug in held.leftovers:
        raise Conflict(f"what {state.ontology} had there is being removed: try again in a moment")
    if held not in (state.configured, anew):
        raise Conflict(f"{state.ontology} was reconfigured in the meantime: check, and try again")
    write_configuration(tx, state.ontology, anew)


def _refuse_other_build(slug: str, state: EmbeddingState) -> None:
    images = state.configured.images
    if images.serving is not None and images.target != slug:
        raise Conflict(
            f"pictures of {state.ontology} are being built in {images.target} already: wait, or cancel that "
            f"with `kg admin spaces rollback {images.target} --ontology {state.ontology!r}`"
        )
