"""Embedding spaces as a person reads them."""

from __future__ import annotations

from kg_api.models.embedding.configuration import Cost
from kg_api.models.embedding.spaces import EmbeddingHealth, SpaceInfo, SpaceList
from kg_api.models.embedding.switching import SpaceBuilding, SpaceCheck, SpaceDropped, SpaceSwitched
from kg_cli.terminal.console import note, print_table, say
from kg_cli.terminal.costs import cost_rows


def print_spaces(found: SpaceList) -> None:
    """Print each space with its model, and who uses it."""
    rows = [
        [f"{each.slug}\n{each.state}", f"{each.provider}\n{each.model}", _about(each), _uses(each)]
        for each in found.spaces
    ]
    print_table(["space", "model", "what it takes and gives", "ontologies"], rows)


def print_created(made: SpaceInfo) -> None:
    """Say what was made, and how it comes to answer."""
    say(f"the space {made.slug} is there: {made.provider} {made.model}, {made.dimensions} dimensions")
    say(f"change to it while people search: kg admin spaces build {made.slug} --ontology NAME")


def print_health(found: EmbeddingHealth) -> None:
    """Print whether each space's model answers."""
    rows = [
        [
            each.slug,
            each.status,
            "-" if each.latency_ms is None else f"{each.latency_ms:.0f} ms",
            each.error or "",
        ]
        for each in found.spaces
    ]
    print_table(["space", "status", "latency", "error"], rows)
    note(*found.notes)


def print_builds(made: SpaceBuilding, *, dry_run: bool) -> None:
    """Print what is built, or what that would take."""
    rows = [
        [
            each.ontology,
            each.answering,
            str(each.due),
            _takes(each.cost) if dry_run else each.job_id or "-",
        ]
        for each in made.builds
    ]
    print_table(["ontology", "answers meanwhile", "to embed", "takes" if dry_run else "job"], rows)
    note(*made.notes)


def print_next(slug: str) -> None:
    """Say what follows a build."""
    say(f"when it is complete: kg admin spaces check {slug} && kg admin spaces activate {slug}")


def print_check(found: SpaceCheck) -> None:
    """Print all that was looked at."""
    rows = [[each.name, "ok" if each.ok else "NOT OK", each.detail] for each in found.findings]
    print_table(["check", "result", "detail"], rows)


def print_switched(switched: SpaceSwitched) -> None:
    """Print what answers now, and what answered before."""
    print_table(
        ["ontology", "answered by", "now by"],
        [[each.ontology, each.before, each.now] for each in switched.ontologies],
    )
    note(*switched.notes)
    say(f"switched in {switched.seconds:.2f} s; new ontologies use {switched.space_of_new}")


def print_dropped(dropped: SpaceDropped, *, what: str) -> None:
    """Say what is being removed."""
    say(f"{what} is being removed: job {dropped.job_id}")
    note(*dropped.notes)


def _uses(space: SpaceInfo) -> str:
    """Whom it answers, for whom it is built, and who can go back to it."""
    told = [
        *space.ontologies,
        *(f"{name} (building)" for name in space.building),
        *(f"{name} (before)" for name in space.retiring),
        *(["(new ones)"] if space.for_new else []),
    ]
    return "\n".join(told) or "-"


def _about(space: SpaceInfo) -> str:
    price = space.price_per_million_tokens
    return f"{space.dimensions} dimensions\n{_takes_in(space)}\n" + (
        "price not known" if price is None else f"${price:g} per 1M tokens" if price else "free"
    )


def _takes_in(space: SpaceInfo) -> str:
    if space.modality == "image":
        words = f"pictures, words of {space.max_tokens} tokens" if space.max_tokens else "pictures"
        return f"{words}\n{space.batch_size} pictures at once"
    return f"{space.max_tokens} tokens a text\n{space.batch_size} texts at once"


def _takes(cost: Cost | None) -> str:
    if cost is None:
        return "-"
    return "\n".join(f"{name}: {told}" if name else told for name, told in cost_rows(cost))
