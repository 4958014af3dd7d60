import inspect
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import cast

import pytest
import typer

from kg_api.client import KgClient
from kg_api.errors import DatabaseUnavailable, InvalidInput, KgError
from kg_api.schemas.documents import Approved, EmbeddingStatus, Rejected, WaitingDocument
from kg_api.schemas.embedding import Build, Finding, SpaceBuilding, SpaceCheck
from kg_api.schemas.filters import DeletedMatching
from kg_api.schemas.languages import OntologyLanguage, Synonyms
from kg_cli.admin import languages
from kg_cli.admin.embedding import wait_until_built
from kg_cli.documents import commands as review
from kg_cli.jobs import commands, report
from kg_cli.jobs.report import _count_missing_sources, retry_while_unavailable
from kg_cli.terminal import options
from tests.unit.cli.test_job_words import job
from tests.unit.cli.test_stack_report import QUEUE, WORKER

GROUPS = [["a", "b"], ["k8s", "kubernetes"]]


def failing(times: int, error: KgError) -> Callable[[], str]:
    left = [times]

    def call() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return "done"

    return call


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(report, "AWAY_SECONDS", 0.5)


def test_retry_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert retry_while_unavailable(failing(3, DatabaseUnavailable("Neo4j is away [really]"))) == "done"
    assert capsys.readouterr().err == "retrying: Neo4j is away [really]\n"


@pytest.mark.parametrize(
    ("alive", "told"),
    [([], "No worker is running"), ([False], "No worker is running"), ([False, True], "worker is busy")],
)
def test_wait_in_the_queue_is_explained(
    capsys: pytest.CaptureFixture[str], alive: list[bool], told: str
) -> None:
    workers = [WORKER.model_copy(update={"alive": each}) for each in alive]
    client = cast("KgClient", SimpleNamespace(queue=lambda: QUEUE.model_copy(update={"workers": workers})))
    report.explain_wait(client)
    assert told in capsys.readouterr().err


def test_it_ends_when_the_service_stays_away() -> None:
    with pytest.raises(DatabaseUnavailable, match="away"):
        retry_while_unavailable(failing(10**6, DatabaseUnavailable("away")))


def test_permanent_error_is_raised_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidInput):
        retry_while_unavailable(failing(1, InvalidInput("wrong")))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("building", "left"), [(False, 3), (True, 2)])
def test_wait_is_for_stale_vectors_unless_they_answer(*, building: bool, left: int) -> None:
    status = EmbeddingStatus(
        ontology="notes", total=9, embedded=5, missing=1, stale=2, refused=1, searchable=6, building=building
    )
    assert _count_missing_sources(status) == left


@pytest.mark.parametrize(
    ("state", "seconds", "told"),
    [
        ("failed", 90, "job j1 failed: no reason is recorded"),
        ("succeeded", 0, "no job is embedding them"),
        (None, 0, "no job is embedding them"),
    ],
)
def test_wait_for_embedding_ends_without_a_job(
    monkeypatch: pytest.MonkeyPatch, state: str | None, seconds: float, told: str
) -> None:
    status = EmbeddingStatus(
        ontology="notes", total=9, embedded=8, missing=1, stale=0, refused=0, searchable=8, building=False
    )
    last = [job(state=state)] if state else []
    config = SimpleNamespace(paused=False, config=SimpleNamespace(embed_on_ingest=True))
    client = SimpleNamespace(
        embedding_status=lambda _: status,
        embedding_config=lambda _: config,
        jobs=lambda **_: SimpleNamespace(jobs=last),
    )
    monkeypatch.setattr(report, "BACKFILL_SECONDS", seconds)
    monkeypatch.setattr(report, "list_unfinished_jobs", lambda *_, **__: [])
    with pytest.raises(report.JobFailed, match=f"^1 source without a vector: {told}"):
        report.wait_until_embedded(cast("KgClient", client), "notes", [])


@pytest.mark.parametrize(("paused", "told"), [(True, "paused, because"), (False, "off at ingestion")])
def test_stopped_embedding_is_not_waited_for(
    capsys: pytest.CaptureFixture[str], *, paused: bool, told: str
) -> None:
    client = SimpleNamespace(
        embedding_status=lambda _: SimpleNamespace(building=False),
        embedding_config=lambda _: SimpleNamespace(
            paused=paused, config=SimpleNamespace(embed_on_ingest=paused)
        ),
    )
    report.wait_until_embedded(cast("KgClient", client), "notes", [])
    assert told in " ".join(capsys.readouterr().err.split())


BUILD = Build.model_construct(ontology="notes", job_id="a")


def test_build_waits_for_later_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[list[str]]()
    monkeypatch.setattr(report, "POLL_SECONDS", 0)
    monkeypatch.setattr(report, "wait_for_jobs", lambda _, jobs: waited.append(jobs))
    monkeypatch.setattr(
        report, "list_unfinished_jobs", lambda *_, kind, **__: ["b"] if kind == "concept_embedding" else []
    )
    states = [Finding(name=name, ok=False, detail="") for name in ("concepts", "refused")]
    checks = iter([states, states[1:]])  # a rejected text remains for the activation to report
    client = SimpleNamespace(check_space=lambda slug: SpaceCheck(slug=slug, ok=False, findings=next(checks)))
    wait_until_built(cast("KgClient", client), SpaceBuilding(slug="s", builds=[BUILD]))
    assert waited == [["a"], ["b"]]
    wait_until_built(cast("KgClient", client), SpaceBuilding(slug="s", builds=[]))
    assert waited[2:] == [[]]


def test_rejecting_nothing_needs_no_confirmation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = Rejected(rejected=0, unknown=[], waiting=0)
    client = SimpleNamespace(waiting=lambda *_, **__: SimpleNamespace(total=0), reject=lambda **_: nothing)
    monkeypatch.setattr(review, "open_client", lambda: nullcontext(client))
    review.reject(ontology="notes", everything=True)
    assert capsys.readouterr().out == "notes: 0 documents rejected\n"


@pytest.mark.parametrize("decide", [review.approve, review.reject])
def test_unknown_pending_name_gets_a_suggestion(
    decide: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pending = SimpleNamespace(documents=[SimpleNamespace(document=each) for each in ("हिन्दी.md", "plan.md")])
    client = SimpleNamespace(
        waiting=lambda *_, **__: pending,
        approve=lambda **_: Approved(outcomes=[], unknown=["हिन्दि.md"]),
        reject=lambda **_: Rejected(rejected=0, unknown=["हिन्दि.md"], waiting=2),
    )
    monkeypatch.setattr(review, "open_client", lambda: nullcontext(client))
    with pytest.raises(typer.Exit):
        decide(["हिन्दि.md"], ontology="notes")
    expected = "  no pending document is named 'हिन्दि.md' (did you mean 'हिन्दी.md'?)\n"
    assert capsys.readouterr().out.endswith(expected)


def test_beginning_of_a_pending_document_keeps_letters_whole() -> None:
    waiting = WaitingDocument.model_construct(
        ontology="notes", document="a.md", replaces=False, beginning="क्षे" * 75
    )
    beginning = review._format_waiting(waiting)[2][0]
    assert beginning == f"\n{'क्षे' * 25}…"


def test_notes_on_a_filter_precede_the_confirmation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    note = "no document has the field 'kk'"
    matching = DeletedMatching(documents=2, sources=2, dry_run=True, first=[], notes=[note])
    client = cast("KgClient", SimpleNamespace(delete_documents=lambda *_, **__: matching))
    asked = list[str]()
    monkeypatch.setattr(options, "confirm", lambda _: asked.append(capsys.readouterr().err))
    inspect.unwrap(review.delete_documents)(client, where=["kk!=1"])
    assert note in asked[0]


@pytest.mark.parametrize("job_id", [None, "job-1"])
def test_watching_does_not_ask_for_the_queue(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], job_id: str | None
) -> None:
    """Keys of some ontologies may not see the queue."""
    watched: list[list[str]] = []
    client = SimpleNamespace(jobs=lambda **_: SimpleNamespace(jobs=[], total=2))
    monkeypatch.setattr(commands, "open_client", lambda: nullcontext(client))
    monkeypatch.setattr(report, "wait_for_jobs", lambda _, ids: watched.append(ids))
    commands.watch(job_id, ontology="a b")
    assert watched == [[job_id] if job_id else []]
    told = "2 earlier jobs failed. For the reasons: kg jobs list --state failed --ontology 'a b'"
    assert (told in capsys.readouterr().err) == (job_id is None)


@pytest.mark.parametrize(
    ("after", "told"), [([], "2 groups removed\n"), ([["a", "b"]], "1 group removed\n"), (GROUPS, "")]
)
def test_removed_groups_of_synonyms_are_counted(
    after: list[list[str]], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    client = cast(
        "KgClient",
        SimpleNamespace(
            synonyms=lambda ontology: Synonyms(ontology=ontology, groups=GROUPS),
            set_synonyms=lambda ontology, groups: Synonyms(ontology=ontology, groups=groups),
        ),
    )
    assert inspect.unwrap(languages.replace)(client, ["=".join(each) for each in after], ontology="notes")
    assert capsys.readouterr().err == told


def test_language_is_set_until_all_sources_are_indexed() -> None:
    answers = [
        OntologyLanguage(ontology="notes", language="de", complete=not left, indexed=left + 2)
        for left in (3, 1, 0)
    ]
    given = iter(answers)
    client = cast("KgClient", SimpleNamespace(set_language=lambda *_: next(given)))
    answer = inspect.unwrap(languages.language)(client, "de", ontology="notes")
    assert (answer.complete, answer.indexed) == (True, 10)
    assert not [*given]


def test_command_to_continue_quotes_the_ontology(capsys: pytest.CaptureFixture[str]) -> None:
    languages._print_language(OntologyLanguage(ontology="my notes", language="de", complete=False, indexed=2))
    assert "kg admin language de --ontology 'my notes'" in " ".join(capsys.readouterr().err.split())
