"""What switching a space of texts and one of pictures have in common."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kg_api.errors import Conflict
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.images import ImagePlan, check_image_vectors, count_images
from kg_api.graph.spaces import (
    ImageSpaces,
    Space,
    StoredConfiguration,
    ask_for_cleanup,
    begin_dropping,
    ensure_index,
    find_space,
    forget_vectors,
    hold_configurations,
    hold_spaces,
    set_space_of_new,
    space_of_new,
    space_of_new_before,
    spaces_of_new,
    write_configuration,
)
from kg_api.graph.vectors import count_behind
from kg_api.schemas.embedding import (
    Build,
    Finding,
    SpaceBuild,
    SpaceBuilding,
    SpaceCheck,
    SpaceDropped,
    SpaceSwitched,
    SwitchedOntology,
)
from kg_api.schemas.spaces import FIRST_IMAGE_SLUG, FIRST_SLUG
from kg_api.schemas.vocabulary import Modality
from kg_api.spaces.activation import (
    activate,
    activate_complete_images,
    activate_images,
    describe_refused,
    turn_back,
)
from kg_api.spaces.configuration import (
    ConfigurationService,
    EmbeddingRequests,
    SpaceChecker,
    check_index,
    check_model,
    to_check,
)
from kg_api.spaces.images import ImageSpaceRegistry
from kg_api.spaces.plans import (
    EmbeddingState,
    read_embedding_state,
    read_embedding_states,
    select_embedding_states,
)


def require_ok(found: SpaceCheck) -> None:
    """Refuse to let answer what the check found wrong.

    Raises:
        Conflict: saying what.
    """
    if not found.ok:
        wrong = "; ".join(each.detail for each in found.findings if not each.ok)
        raise Conflict(f"{found.slug} cannot be activated yet: {wrong}")


def switch_to(graph: Graph, slug: str, let_answer: Callable[[Transaction], None], *, new: bool) -> float:
    """Let a space answer, and new ontologies use it if that is wanted; seconds of the transaction."""

    def switch(tx: Transaction) -> None:
        hold_spaces(tx, [slug])
        let_answer(tx)
        if new:
            set_space_of_new(tx, slug)

    return _time(graph, switch)


@dataclass(frozen=True, slots=True)
class WayBack:
    """How an ontology goes back."""

    present: StoredConfiguration
    anew: StoredConfiguration
    space: str
    """That answers then."""


def switch_back(
    graph: Graph, slug: str, back: Mapping[str, WayBack], *, new: bool, modality: Modality = "text"
) -> float:
    """Let what answered before a space answer again; new ontologies get the one back that was theirs.

    Where that has gone they get the one of most of these.

    Returns:
        Seconds of the transaction.

    Raises:
        Conflict: an ontology was configured anew meanwhile.
    """
    commonest = Counter(each.space for each in back.values()).most_common(1)[0][0]
    before = space_of_new_before(graph, slug) or commonest

    def switch(tx: Transaction) -> None:
        hold_spaces(tx, {before, *(each.space for each in back.values())})
        held = hold_configurations(tx, [*back])
        if any(held.get(name) not in (each.present, each.anew) for name, each in back.items()):
            raise Conflict("an ontology was reconfigured in the meantime: check, and try again")
        for name, each in back.items():
            write_configuration(tx, name, each.anew)
        if new and space_of_new(graph, modality) == slug:
            set_space_of_new(tx, before)

    return _time(graph, switch)


def begin_again(graph: Graph, requests: EmbeddingRequests, names: Iterable[str]) -> list[str]:
    """Have embedded what is due of ontologies that went back; what was begun."""
    now = read_embedding_states(graph)
    return [f"{name}: {note}" for name in names if name in now for note in requests.begun(now[name])]


def present_ontologies(switched: Mapping[str, tuple[str, str]]) -> list[SwitchedOntology]:
    """By ontology, the space before and the one after."""
    return [
        SwitchedOntology(ontology=name, before=before, now=now) for name, (before, now) in switched.items()
    ]


def present_switched(
    graph: Graph,
    slug: str,
    switched: Mapping[str, tuple[str, str]],
    seconds: float,
    *,
    modality: Modality = "text",
    notes: Iterable[str] = (),
) -> SpaceSwitched:
    """What was switched: by ontology, the space before and the one now."""
    return SpaceSwitched(
        slug=slug,
        ontologies=present_ontologies(switched),
        space_of_new=space_of_new(graph, modality),
        seconds=seconds,
        notes=[
            "searches that began before go on as they were for up to a second",
            *_note_given_up(slug, switched),
            *notes,
        ],
    )


def _note_given_up(slug: str, switched: Mapping[str, tuple[str, str]]) -> list[str]:
    names = [name for name, (before, now) in switched.items() if before == now != slug]
    return [f"{', '.join(names)}: the build in {slug} was given up, nothing else changed"] if names else []


def _time(graph: Graph, switch: Callable[[Transaction], None]) -> float:
    begun = time.perf_counter()
    graph.transaction(switch)
    return round(time.perf_counter() - begun, 3)


# Removing a space, or one ontology's vectors in it.

MAX_SHOWN = 10


class DropService:
    """Removes what nothing answers from."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def drop(self, slug: str, ontology: str | None = None) -> SpaceDropped:
        """Remove a space with all its vectors, or those of one ontology that nothing needs any more.

        Raises:
            NotFound: there is no such space or ontology.
            Conflict: it answers, is being built, or is for new ontologies.
        """
        space = find_space(self._graph, slug)
        chosen = select_embedding_states(self._graph, None if ontology is None else [ontology])
        if ontology is None:
            using = [
                each.ontology
                for each in chosen
                if slug in {plan.space.slug for plan in (*each.plans, *each.image_plans)}
            ]
            if using:
                told = ", ".join(using[:MAX_SHOWN]) + (" and more" if len(using) > MAX_SHOWN else "")
                raise Conflict(
                    f"{slug} is used by {told}: activate another space for them first, or roll back"
                )
            if slug in spaces_of_new(self._graph).values():
                raise Conflict(
                    f"{slug} is the space of new ontologies: activate another one first, for all of them"
                )
        job_id = self._graph.transaction(lambda tx: _drop(tx, space, chosen, whole=ontology is None))
        gone = [each.ontology for each in chosen if _goes_back_to(each.configured, slug)]
        notes = [f"{', '.join(gone)}: cannot be rolled back to it any more"] if gone else []
        if slug in {FIRST_SLUG, FIRST_IMAGE_SLUG} and ontology is None:
            notes.append("it comes back empty at the next start, for the model that the settings name")
        names = [each.ontology for each in chosen] if ontology else gone
        return SpaceDropped(slug=slug, ontologies=names, job_id=job_id, notes=notes)


def _goes_back_to(configured: StoredConfiguration, slug: str) -> bool:
    previous = configured.previous
    return (previous is not None and previous.space == slug) or configured.images.previous == slug


def _without_previous(configured: StoredConfiguration, space: Space) -> StoredConfiguration:
    if space.is_of_images:
        return replace(configured, images=replace(configured.images, previous=None))
    return replace(configured, previous=None)


def _drop(tx: Transaction, space: Space, chosen: Sequence[EmbeddingState], *, whole: bool) -> str:
    if whole:
        begin_dropping(tx, space.slug)  # it is locked before the ontologies, as whoever begins to use it does
    held = hold_configurations(tx, [each.ontology for each in chosen])
    for name, configured in held.items():
        unused = [slot.key for slot in space.slots if slot.key not in configured.kept_up]
        if whole and len(unused) < len(space.slots):
            raise Conflict(f"{name} has just started using {space.slug}: check, and try again")
        if not unused:
            raise Conflict(f"{name} still uses all of its vectors in {space.slug}")
        if _goes_back_to(configured, space.slug):
            write_configuration(tx, name, _without_previous(configured, space))
        if not whole:
            forget_vectors(tx, name, unused)
    return ask_for_cleanup(tx)


# The gate before a space of pictures answers: model, index, completeness, every vector.


class ImageSpaceChecker:
    """Looks whether what is built in a space of pictures can answer."""

    def __init__(self, graph: Graph, spaces: ImageSpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces

    def check(
        self, space: Space, embedding_states: Sequence[EmbeddingState], *, accept_refused: bool = False
    ) -> SpaceCheck:
        """Check a space's model and index, and each ontology that is or shall be answered by it."""
        plans = [each.image_plans[-1] for each in embedding_states if each.image_plans]
        found = (each for plan in plans for each in self._ontology(plan, accept_refused=accept_refused))
        model = check_model(self._spaces.of(space), "drawn picture")
        return to_check(space, [model, check_index(self._graph, space.image_index_name), *found])

    def _ontology(self, plan: ImagePlan, *, accept_refused: bool) -> Iterator[Finding]:
        name, behind = plan.ontology, self._graph.transaction(lambda tx: count_behind(tx, plan.wanted()))
        told = f"{behind.behind} pictures are not built yet" if behind.behind else "all pictures are built"
        yield Finding(name="complete", ok=not behind.behind, detail=f"{name}: {told}")
        if behind.refused:
            told = describe_refused(behind.refused, "pictures")
            yield Finding(name="refused", ok=accept_refused, detail=f"{name}: {told}")
        built, wrong = check_image_vectors(self._graph, plan)
        told = f"{name}: {built} pictures; {wrong} vectors that are not there or that an index leaves out"
        yield Finding(name="vectors", ok=not wrong, detail=told)


# Changing the space of pictures while people search: build beside, check, activate, go back.


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
        return present_switched(
            self._graph, slug, _spaces_switch(back), seconds, modality="image", notes=notes
        )

    def preview_rollback(self, space: Space, ontologies: Sequence[str] | None) -> list[SwitchedOntology]:
        """What going back would switch; nothing is changed.

        Raises:
            Conflict: there is nothing to go back to.
        """
        return present_ontologies(_spaces_switch(self._ways_back(space.slug, ontologies)))

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


def _spaces_switch(back: Mapping[str, WayBack]) -> dict[str, tuple[str, str]]:
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


# Changing the space of ontologies while people search: build beside, check, activate, go back.


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
        if not building and not (
            new
            and space_of_new(self._graph) != slug
            and any(each.answering.space.slug == slug for each in read_embedding_states(self._graph).values())
        ):
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
