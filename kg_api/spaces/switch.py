"""Space switches without downtime, alike for text and images: build, check, activate, roll back, drop."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from kg_api.errors import Conflict, KgError
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.schema import read_index_states
from kg_api.graph.spaces import (
    Layout,
    Space,
    SpaceUse,
    StoredConfiguration,
    find_default_spaces,
    find_space,
    forget_vectors,
    get_previous_default_space,
    hold_configurations,
    hold_spaces,
    read_spaces,
    request_cleanup,
    set_default_space,
    write_configuration,
)
from kg_api.graph.targets import (
    KINDS,
    MAIN_KINDS,
    Plan,
    check_image_vectors,
    count_vectors,
    find_lost_in_index,
)
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
from kg_api.spaces.configuration import ConfigurationService, EmbeddingRequests
from kg_api.spaces.images import ImageSpaceRegistry
from kg_api.spaces.plans import (
    EmbeddingState,
    activate,
    activate_complete,
    count_unbuilt_items,
    describe_rejected,
    get_embedded_kinds,
    read_embedding_state,
    read_embedding_states,
    report_other_change,
    select_embedding_states,
)
from kg_api.spaces.registry import SpaceRegistry

MAX_SHOWN = 10


class SwitchService:
    def __init__(
        self,
        graph: Graph,
        configure: ConfigurationService,
        requests: EmbeddingRequests,
        spaces: SpaceRegistry,
        images: ImageSpaceRegistry,
    ) -> None:
        self._graph = graph
        self._configure = configure
        self._requests = requests
        self._spaces = spaces
        self._images = images

    def build(self, slug: str, request: SpaceBuild) -> SpaceBuilding:
        """Build the vectors of a space for ontologies, while their current vectors stay active."""
        space = find_space(self._graph, slug)
        chosen = select_embedding_states(self._graph, request.ontologies)
        there = list[str]()
        wanted = list[str]()
        for state in chosen:  # other chunking within the same space is not a build
            use = state.configured.get_use(space.identity.modality)
            if {layout.space for layout in use.kept_up} == {slug}:
                there.append(state.ontology)
                continue
            other = use.target.space
            if use.serving is not None and other != slug:
                of = "pictures of " if space.is_of_images else ""
                raise Conflict(
                    f"{of}{state.ontology} is being built in {other} already: wait, or cancel that with "
                    f"`kg admin spaces rollback {other} --ontology {state.ontology!r}`"
                )
            wanted.append(state.ontology)
        builds = [self._build(space, each, request) for each in wanted]
        notes = [f"{', '.join(there)}: answered by {slug} already"] if there else []
        if request.dry_run:
            notes.append("nothing was changed: this is a dry run")
        elif at_once := [build.ontology for build in builds if build.answering == slug]:
            notes.append(f"{', '.join(at_once)}: {slug} is active now, without a build")
        return SpaceBuilding(slug=slug, builds=builds, notes=notes)

    def check(self, slug: str, ontologies: Sequence[str] | None = None) -> SpaceCheck:
        """Check if the vectors built in a space are ready for activation."""
        space = find_space(self._graph, slug)
        return self._check(space, self._list_targeting(space, ontologies))

    def activate(
        self, slug: str, ontologies: Sequence[str] | None = None, *, accept_rejected: bool = False
    ) -> SpaceSwitched:
        """Activate everything built in a space, in one transaction after a check."""
        space, new = find_space(self._graph, slug), ontologies is None
        modality = space.identity.modality
        uses = {
            each.ontology: each.configured.get_use(modality)
            for each in read_embedding_states(self._graph).values()
        }
        building = [
            each
            for each in self._list_targeting(space, ontologies)
            if (serving := each.configured.get_use(modality).serving)
            and (ontologies or serving.space != slug)
        ]
        takes_new = new and self._find_default(modality) != slug
        is_answering = not uses or any(use.answering.space == slug for use in uses.values())
        if not building and not (takes_new and is_answering):
            raise Conflict(
                f"no build in progress in {slug}. Start one with `kg admin spaces build {slug}`, "
                "which reuses existing vectors"
            )
        found = self._check(space, building, accept_rejected=accept_rejected)
        if not found.ok:
            wrong = "; ".join(each.detail for each in found.findings if not each.ok)
            raise Conflict(f"{slug} cannot be activated yet: {wrong}")

        def switch(tx: Transaction) -> None:
            hold_spaces(tx, [slug])
            activate(tx, building, modality, accept_rejected=accept_rejected)
            if new:
                set_default_space(tx, slug)

        seconds = self._run_timed(switch)
        switched = _list_switched(space, [(each, each.configured.get_use(modality)) for each in building])
        return self._present(space, switched, seconds)

    def rollback(self, slug: str, ontologies: Sequence[str] | None = None) -> SpaceSwitched:
        """Return to the previous vectors in one transaction, and abandon incomplete builds."""
        # New ontologies return to their previous space, or to the most common one if that no longer exists.
        space = find_space(self._graph, slug)
        modality = space.identity.modality
        back = self._find_rollbacks(space, ontologies)
        now = {state.ontology: use.target.space for state, use in back}
        before = get_previous_default_space(self._graph, slug) or Counter(now.values()).most_common(1)[0][0]

        def switch(tx: Transaction) -> None:
            hold_spaces(tx, {before, *now.values()})
            held = hold_configurations(tx, [*now])
            for state, use in back:
                anew = state.configured.with_use(modality, use)
                if held.get(state.ontology) not in (state.configured, anew):
                    raise report_other_change(state.ontology)
                write_configuration(tx, state.ontology, anew)
            if ontologies is None and find_default_spaces(read_spaces(tx))[modality] == slug:
                set_default_space(tx, before)

        seconds = self._run_timed(switch)
        states = read_embedding_states(self._graph)
        begun = list[str]()
        for state in (states[name] for name in now if name in states):
            begun += [f"{state.ontology}: {note}" for note in self._requests.start_required_work(state)]
        return self._present(space, _list_switched(space, back), seconds, begun)

    def drop(self, slug: str, ontology: str | None = None) -> SpaceDropped:
        """Delete a space with all its vectors, or the unused vectors of one ontology."""
        space = find_space(self._graph, slug)
        chosen = select_embedding_states(self._graph, None if ontology is None else [ontology])
        if ontology is None:
            using = [
                each.ontology
                for each in chosen
                if slug
                in {layout.space for layout in each.configured.get_use(space.identity.modality).kept_up}
            ]
            if using:
                quoted_names = ", ".join(using[:MAX_SHOWN]) + (" and more" if len(using) > MAX_SHOWN else "")
                raise Conflict(
                    f"{slug} is used by {quoted_names}: activate another space for them first, or roll back"
                )
            if slug in find_default_spaces(read_spaces(self._graph)).values():
                raise Conflict(
                    f"{slug} is the space of new ontologies: activate another one first, for all of them"
                )
        job_id = self._graph.transaction(lambda tx: _drop(tx, space, chosen, whole=ontology is None))
        gone = [each.ontology for each in chosen if _is_rollback(each.configured, space)]
        notes = [f"{', '.join(gone)}: can no longer be rolled back to this space"] if gone else []
        if slug in {FIRST_SLUG, FIRST_IMAGE_SLUG} and ontology is None:
            notes.append("the next start creates the space again, empty, for the model in the settings")
        names = [each.ontology for each in chosen] if ontology else gone
        return SpaceDropped(slug=slug, ontologies=names, job_id=job_id, notes=notes)

    def _check(
        self, space: Space, states: Sequence[EmbeddingState], *, accept_rejected: bool = False
    ) -> SpaceCheck:
        """Check a space's model, and the index, completeness, and every vector of each ontology."""
        opened = self._images.get_open(space) if space.is_of_images else self._spaces.get_open(space)
        probe = "drawn picture" if space.is_of_images else "probe text"
        try:
            opened.check()
            model = Finding(name="model", ok=True, detail=f"returns the stored vector of its {probe}")
        except KgError as error:
            model = Finding(name="model", ok=False, detail=str(error))
        found = [model]
        for state in states:
            found += self._check_ontology(space, state, accept_rejected=accept_rejected)
        return SpaceCheck(slug=space.slug, ok=all(each.ok for each in found), findings=found)

    def _check_ontology(
        self, space: Space, state: EmbeddingState, *, accept_rejected: bool
    ) -> Iterator[Finding]:
        modality, name = space.identity.modality, state.ontology
        main, refused = MAIN_KINDS[modality], 0
        plan = state.targets(main)[0]
        index = self._check_index(plan.space.index_names[0])
        yield index
        for kind in sorted(get_embedded_kinds(modality), key=lambda each: each != main):
            behind, set_aside = self._graph.transaction(
                lambda tx, kind=kind: count_unbuilt_items(tx, state, kind)
            )
            message = f"{name}: {behind} {KINDS[kind].plural} are not built yet"
            if kind == main:
                message = message if behind else f"{name}: every source is embedded"
                yield Finding(name="complete", ok=not behind, detail=message)
                refused = set_aside
            elif behind:
                yield Finding(name=f"{KINDS[kind].noun}s", ok=False, detail=message)
        if refused:
            message = f"{name}: {describe_rejected(refused, main)}"
            yield Finding(name="refused", ok=accept_rejected, detail=message)
        yield self._check_vectors(plan)
        if index.ok and not space.is_of_images:
            lost, sampled = find_lost_in_index(self._graph, name, plan.space, plan.mark)
            message = f"the index finds {sampled - lost} of {sampled} sampled vectors"
            yield Finding(name="found", ok=not lost, detail=f"{name}: {message}")

    def _check_index(self, name: str) -> Finding:
        state = read_index_states(self._graph).get(name)
        if state is None:
            return Finding(name="index", ok=False, detail=f"the index {name} is not there")
        message = f"the index {name} is {state.state.lower()}, {state.percent:.0f} % populated"
        return Finding(name="index", ok=state.online, detail=message)

    def _check_vectors(self, plan: Plan) -> Finding:
        name = plan.ontology
        if plan.space.is_of_images:
            built, wrong = check_image_vectors(self._graph, plan)
            note = f"{built} images, {wrong} vectors missing or absent from an index"
            return Finding(name="vectors", ok=not wrong, detail=f"{name}: {note}")
        counts = count_vectors(self._graph, name, plan.space, plan.mark)
        wrong = counts["without"] + counts["wrong"] + counts["orphans"]
        note = f"{counts['built']} sources, {counts['chunks']} chunks, {counts['without']} without a vector, "
        note += (
            f"{counts['wrong']} vectors missing from an index, {counts['orphans']} chunks without a source"
        )
        return Finding(name="vectors", ok=not wrong, detail=f"{name}: {note}")

    def _find_rollbacks(
        self, space: Space, ontologies: Sequence[str] | None
    ) -> list[tuple[EmbeddingState, SpaceUse]]:
        back = list[tuple[EmbeddingState, SpaceUse]]()
        for state in self._list_targeting(space, ontologies):
            anew = state.configured.get_use(space.identity.modality).with_rollback()
            if anew is not None and (ontologies or anew.target.space != space.slug):
                back.append((state, anew))
        if not back:
            of = " of pictures" if space.is_of_images else ""
            raise Conflict(f"no ontology that uses {space.slug} has a previous space{of} to roll back to")
        return back

    def _build(self, space: Space, name: str, request: SpaceBuild) -> Build:
        modality = space.identity.modality
        target, counts = self._configure.rebuild(
            name, space, dry_run=request.dry_run, activates=request.activate
        )
        due = counts.missing + counts.stale
        use = target.configured.get_use(modality)
        if request.dry_run:
            cost = self._requests.estimate(MAIN_KINDS[modality], target, due)
            return Build(ontology=name, answering=use.answering.space, due=due, job_id=None, cost=cost)
        job_id = self._requests.embed(name, modality=modality).job_id
        now = read_embedding_state(self._graph, name)
        activate_complete(self._graph, now, modality)
        now = read_embedding_state(self._graph, name)
        answering = now.configured.get_use(modality).answering
        return Build(ontology=name, answering=answering.space, due=due, job_id=job_id, cost=None)

    def _list_targeting(self, space: Space, ontologies: Sequence[str] | None) -> list[EmbeddingState]:
        chosen = select_embedding_states(self._graph, ontologies)
        modality = space.identity.modality
        return [each for each in chosen if each.configured.get_use(modality).target.space == space.slug]

    def _find_default(self, modality: Modality) -> str:
        return find_default_spaces(read_spaces(self._graph))[modality]

    def _run_timed(self, switch: Callable[[Transaction], None]) -> float:
        begun = time.perf_counter()
        self._graph.transaction(switch)
        return round(time.perf_counter() - begun, 3)

    def _present(
        self, space: Space, switched: Sequence[SwitchedOntology], seconds: float, notes: Iterable[str] = ()
    ) -> SpaceSwitched:
        slug = space.slug
        messages = ["searches that are in progress use the previous space for up to one second"]
        if given_up := [each.ontology for each in switched if each.before == each.now != slug]:
            messages.append(f"{', '.join(given_up)}: the build in {slug} was cancelled. Nothing else changed")
        return SpaceSwitched(
            slug=slug,
            ontologies=[*switched],
            space_of_new=self._find_default(space.identity.modality),
            seconds=seconds,
            notes=[*messages, *notes],
        )


def _list_switched(space: Space, back: Sequence[tuple[EmbeddingState, SpaceUse]]) -> list[SwitchedOntology]:
    return [
        SwitchedOntology(
            ontology=state.ontology,
            before=state.configured.get_use(space.identity.modality).answering.space,
            now=use.target.space,
        )
        for state, use in back
    ]


def _is_rollback(configured: StoredConfiguration, space: Space) -> bool:
    previous: Layout | None = configured.get_use(space.identity.modality).previous
    return previous is not None and previous.space == space.slug


def _drop(tx: Transaction, space: Space, chosen: Sequence[EmbeddingState], *, whole: bool) -> str:
    if whole:
        tx.run(
            "spaces/begin_dropping", slug=space.slug
        )  # same lock order as other writers: space, then ontologies
    held = hold_configurations(tx, [each.ontology for each in chosen])
    for name, configured in held.items():
        unused = [slot.key for slot in space.slots if slot.key not in configured.kept_up]
        if whole and len(unused) < len(space.slots):
            raise Conflict(f"{name} has just started using {space.slug}: check, and try again")
        if not unused:
            raise Conflict(f"{name} still uses all of its vectors in {space.slug}")
        if _is_rollback(configured, space):
            modality = space.identity.modality
            use = replace(configured.get_use(modality), previous=None)
            write_configuration(tx, name, configured.with_use(modality, use))
        if not whole:
            forget_vectors(tx, name, unused)
    return request_cleanup(tx)
