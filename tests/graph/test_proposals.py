import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import neo4j
import pytest
from neo4j.exceptions import IncompleteCommit

from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.document_writes import delete_document, delete_ontology, store_document
from kg_api.graph.jobs import LINK_PROPOSAL, enqueue_slot, read_jobs_page
from kg_api.graph.proposals import (
    DueNode,
    count_due,
    decide,
    drop_weakest,
    find_unconnected_pairs,
    read_proposals,
    write_proposals,
)
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.base import build_concept_id, build_document_id
from kg_api.schemas.proposals import Proposal
from kg_api.schemas.vocabulary import LINKED, ProposalState
from tests.support.concepts import extraction, found, labelled, quote, write
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.embedding import run_jobs
from tests.support.proposals import EARS, LEASE, LICENCE, OWLS, RENT, TAXES, Proposing
from tests.support.records import record

LABELS = "MATCH (c:Concept) RETURN c.label AS label, c.concept_id AS id"


@pytest.fixture
def notes(graph: Graph) -> Proposing:
    made = Proposing(graph)
    made.add("owls.md", OWLS)
    made.add("ears.md", EARS)
    made.add("taxes.md", TAXES)
    return made


def test_near_passages_are_proposed_with_reason_and_quotes(notes: Proposing) -> None:
    notes.work()
    (found,) = notes.all()
    assert (found.kind, found.state, found.ontology) == ("source", "open", "notes")
    assert {end.quote.strip() for end in found.ends} == {OWLS, EARS}
    assert {end.source.document for end in found.ends} == {"owls.md", "ears.md"}
    assert all(end.quote_end - end.quote_start == len(end.quote) for end in found.ends)
    assert 0.5 <= found.similarity <= 1
    assert "Closest passages of two documents" in found.reason
    assert "voles" in found.reason


def test_rejected_proposal_never_returns(notes: Proposing, driver: neo4j.Driver) -> None:
    notes.work()
    (found,) = notes.all()
    decide(notes.graph, found.proposal_id, "rejected", "Ada")
    rows(driver, "MATCH (s:Source) SET s.embedded_with = 'old', s.unembedded = true")
    notes.work()
    assert notes.all("open") == []
    delete_document(notes.graph, build_document_id("notes", "owls.md"))
    assert notes.all() == [], "it went with its text"
    notes.add("owls.md", OWLS)
    notes.work()
    (again,) = notes.all()
    assert (again.proposal_id, again.state, again.decided_by) == (found.proposal_id, "rejected", "Ada")


def test_accepted_proposal_is_an_edge_until_reopened(notes: Proposing, driver: neo4j.Driver) -> None:
    notes.work()
    (found,) = notes.all()
    links = "MATCH (:Source)-[l:LINKED_TO]->(:Source) RETURN l.proposal_id AS id, l.by AS by"
    for _ in range(2):
        decide(notes.graph, found.proposal_id, "accepted", "Ada")
        assert rows(driver, links) == [{"id": found.proposal_id, "by": "Ada"}]
    notes.service.search("notes", anew=True)
    notes.work()
    assert [each.state for each in notes.all()] == ["accepted"]
    assert notes.all("accepted", "source")[0].decided_at is not None
    assert notes.all(kind="concept") == []
    reopened = decide(notes.graph, found.proposal_id, "open", None)
    assert (reopened.state, reopened.decided_at, reopened.decided_by) == ("open", None, None)
    assert rows(driver, links) == []


def test_repeated_boilerplate_is_not_proposed(graph: Graph) -> None:
    notes = Proposing(graph)
    for number in range(4):
        notes.add(f"{number}.md", f"{LICENCE} Number {number}.", f"{'abcd'[number] * 5} stands alone.")
    notes.work()
    assert notes.all() == []


def test_best_proposals_are_kept_until_a_new_search(graph: Graph) -> None:
    notes = Proposing(graph, max_open=1)
    for name, text in (("owls.md", OWLS), ("ears.md", EARS), ("rent.md", RENT), ("lease.md", LEASE)):
        notes.add(name, text)
    notes.work()
    (best,) = notes.all()
    decide(notes.graph, best.proposal_id, "rejected", None)
    assert notes.work() == 0
    notes.service.search("notes", anew=True)
    notes.work()
    (other,) = notes.all("open")
    assert other.proposal_id != best.proposal_id


def test_proposals_need_embedded_and_enabled_ontology(graph: Graph) -> None:
    notes = Proposing(graph)
    ensure_space(graph, small_embedder().identity)
    notes.add("owls.md", OWLS)
    notes.service.start_pending_searches()
    assert jobs_of(notes) == 0, "embedding waits"
    run_jobs(graph)
    Proposing(graph, enabled=False).service.start_pending_searches()
    assert jobs_of(notes) == 0
    notes.service.start_pending_searches()
    assert jobs_of(notes) == 1
    notes.work()
    assert notes.work() == 0, "nothing has changed since"


def test_job_ends_at_its_limit_and_next_continues(graph: Graph) -> None:
    notes = Proposing(graph, nodes_a_run=2)
    for name, text in (("owls.md", OWLS), ("ears.md", EARS), ("taxes.md", TAXES)):
        notes.add(name, text)
    notes.work()
    assert (count_due(graph, "notes"), read_proposals(graph, "notes").searched_at) == (1, None)
    notes.work()
    assert (count_due(graph, "notes"), len(notes.all("open"))) == (0, 1)
    assert read_proposals(graph, "notes").searched_at is not None


def test_passages_sharing_a_concept_are_not_proposed(graph: Graph) -> None:
    notes, documents = Proposing(graph), [record("owls.md", [OWLS]), record("ears.md", [EARS])]
    for each in documents:
        store_document(graph, each)
    notes.work()
    assert len(notes.all()) == 1
    write(graph, *(labelled(each, 0, "voles") for each in documents))
    notes.work()
    assert notes.all() == [], "reading found that both carry a concept"


def pair_concepts(graph: Graph) -> tuple[Proposing, dict[frozenset[str | None], Proposal]]:
    notes = Proposing(graph, min_concept_similarity=-1, min_concept_contrast=-1, neighbours=9)
    texts = {"a.md": "Barn owls hunt.", "b.md": "Wood mice hide.", "c.md": "Field voles hide."}
    documents = [record(name, [text]) for name, text in texts.items()]
    for each, label in zip(documents, ("Barn owls", "Wood mice", "Field voles"), strict=True):
        store_document(graph, each)
        write(graph, labelled(each, 0, label))
    graph.write("concepts/want", ontology="notes")
    enqueue_slot(graph, "backfill")
    notes.work()
    return notes, {frozenset(end.label for end in each.ends): each for each in notes.all(kind="concept")}


def test_decision_outlives_its_concepts(graph: Graph, driver: neo4j.Driver) -> None:
    notes, pairs = pair_concepts(graph)
    rejected = pairs[frozenset({"Barn owls", "Field voles"})].proposal_id
    decide(notes.graph, rejected, "rejected", "Ada")
    delete_document(graph, build_document_id("notes", "a.md"))
    kept = "MATCH (p:Proposal) WHERE NOT (p)-[:PROPOSES]->() RETURN p.proposal_id AS id, p.reason AS reason"
    assert rows(driver, kept) == [{"id": rejected, "reason": None}]


def test_merged_concepts_keep_their_links(graph: Graph, driver: neo4j.Driver) -> None:
    notes, pairs = pair_concepts(graph)
    assert len(pairs) == 3
    link = pairs[frozenset({"Barn owls", "Wood mice"})]
    decide(notes.graph, link.proposal_id, "accepted", "Ada")
    decide(notes.graph, pairs[frozenset({"Barn owls", "Field voles"})].proposal_id, "rejected", "Ada")
    ids = {row["label"]: row["id"] for row in rows(driver, LABELS)}
    kept = merge_concepts(graph, (ids["Wood mice"], ids["Field voles"]), lambda *_: True)
    assert kept is not None
    (accepted,) = notes.all("accepted")
    assert {end.concept_id for end in accepted.ends} == {kept, ids["Barn owls"]}
    assert notes.all("open") == []
    assert rows(driver, "MATCH (:Concept)-[l:LINKED_TO]->(:Concept) RETURN count(l) AS n") == [{"n": 1}]
    assert decide(notes.graph, accepted.proposal_id, "open", None).state == "open"
    assert rows(driver, "MATCH (:Concept)-[l:LINKED_TO]->(:Concept) RETURN count(l) AS n") == [{"n": 0}]


def test_an_ontology_takes_its_proposals_along(notes: Proposing, driver: neo4j.Driver) -> None:
    notes.work()
    (found,) = notes.all()
    decide(notes.graph, found.proposal_id, "rejected", None)
    delete_ontology(notes.graph, "notes")
    assert rows(driver, "MATCH (p:Proposal) RETURN p") == []


def jobs_of(notes: Proposing) -> int:
    found, _ = read_jobs_page(
        notes.graph, state=None, kind=LINK_PROPOSAL, ontology="notes", offset=0, limit=9
    )
    return len(found)


LINKS = "MATCH ()-[l:LINKED_TO]->() RETURN l.proposal_id AS id"
WAITED_SECONDS = 0.3


@pytest.fixture
def several(graph: Graph) -> Proposing:
    made = Proposing(graph)
    for name, text in (("owls.md", OWLS), ("ears.md", EARS), ("rent.md", RENT), ("lease.md", LEASE)):
        made.add(name, text)
    made.work()
    return made


@contextmanager
def deciding(graph: Graph, proposal_id: str, state: ProposalState) -> Generator[None]:
    """Commit a decision shortly after the body has started."""
    decided, go_on = threading.Event(), threading.Event()

    def decide(tx: Transaction) -> None:
        tx.run("proposals/hold", proposal_id=proposal_id, ontologies=None)
        tx.run("proposals/decide", proposal_id=proposal_id, state=state, by="Ada", type=LINKED, decision="x")
        decided.set()
        go_on.wait(30)

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(graph.transaction, decide)
        assert decided.wait(30)
        try:
            yield
        finally:
            go_on.set()
            done.result(30)


def meanwhile(
    graph: Graph, proposal_id: str, state: ProposalState, work: Callable[[Transaction], None]
) -> None:
    with ThreadPoolExecutor(1) as threads:
        with deciding(graph, proposal_id, state):
            dropped = threads.submit(graph.transaction, work)
            time.sleep(WAITED_SECONDS)
        dropped.result(30)


@pytest.mark.parametrize("state", ["accepted", "rejected"])
@pytest.mark.parametrize("how", ["too many", "looked at again"])
def test_decided_proposal_is_not_dropped(
    several: Proposing, driver: neo4j.Driver, state: ProposalState, how: str
) -> None:
    weakest = several.all()[-1]
    ids = [end.source.source_id for end in weakest.ends]
    hashes = {
        row["id"]: row["hash"]
        for row in rows(driver, "MATCH (s:Source) RETURN s.source_id AS id, s.content_hash AS hash")
    }
    seen = [DueNode(each, hashes[each], None) for each in ids[:1]]

    def drop(tx: Transaction) -> None:
        if how == "too many":
            drop_weakest(tx, "notes", 1)
        else:
            write_proposals(tx, "source", "notes", seen, [], most=9)

    meanwhile(several.graph, weakest.proposal_id, state, drop)
    assert {each.proposal_id: each.state for each in several.all()}[weakest.proposal_id] == state
    assert rows(driver, LINKS) == ([{"id": weakest.proposal_id}] if state == "accepted" else [])


def test_open_proposals_with_the_highest_scores_are_kept(several: Proposing, driver: neo4j.Driver) -> None:
    ids = [each.proposal_id for each in several.all("open")]
    scored = "UNWIND range(0, size($ids) - 1) AS n MATCH (p:Proposal {proposal_id: $ids[n]}) SET p.score = n"
    rows(driver, scored, ids=ids)
    assert [each.proposal_id for each in several.all()] == ids[::-1], "best first"
    several.graph.transaction(lambda tx: drop_weakest(tx, "notes", 1))
    assert [each.proposal_id for each in several.all()] == ids[-1:]


@contextmanager
def losing_an_answer(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Drop the response to the next commit, so that the transaction has to be run twice."""
    real, left = neo4j.Session.execute_write, [True]

    def lose(self: neo4j.Session, work: Callable[[neo4j.ManagedTransaction], object]) -> object:
        done = real(self, work)
        if left and left.pop():
            raise IncompleteCommit
        return done

    with monkeypatch.context() as patched:
        patched.setattr(neo4j.Session, "execute_write", lose)
        yield
    assert not left


def test_repeated_decision_after_lost_response_reports_current_state(
    several: Proposing, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found, *_) = several.all()

    def decide_again(state: ProposalState, by: str) -> tuple[str | None, list[str]]:
        with losing_an_answer(monkeypatch):
            told = decide(several.graph, found.proposal_id, state, by)
        assert told.state == state
        return told.decided_by, told.notes

    assert decide_again("accepted", "Ada") == ("Ada", [])
    assert rows(driver, LINKS) == [{"id": found.proposal_id}]
    assert decide_again("accepted", "Bob") == (
        "Ada",
        ["the proposal was accepted by Ada already: nothing has changed"],
    )
    assert decide_again("rejected", "Bob") == (
        "Bob",
        ["the proposal was accepted by Ada before. Its link no longer exists"],
    )
    assert rows(driver, LINKS) == []


def test_a_frequent_concept_connects_nothing_on_any_step(graph: Graph, driver: neo4j.Driver) -> None:
    several = Proposing(graph)
    fillers = [f"filler number {n} says owls." for n in range(60)]
    for name, texts in (("owls.md", [OWLS]), ("ears.md", [EARS]), ("many.md", fillers)):
        several.add(name, *texts)
    owls, ears, many = record("owls.md", [OWLS]), record("ears.md", [EARS]), record("many.md", fillers)
    write(graph, labelled(owls, 0, "owls"), extraction(ears, 0, found("prey", quote(EARS, "prey"))))
    pair = (owls.sources[0].source_id, ears.sources[0].source_id)
    rows(
        driver,
        "MATCH (a:Concept {concept_id: $a}), (b:Concept {concept_id: $b})"
        "CREATE (a)-[:RELATED_TO {relation_id: 'x', source_id: 's', type: 'eats'}]->(b)",
        a=build_concept_id("notes", "owls"),
        b=build_concept_id("notes", "prey"),
    )
    assert find_unconnected_pairs(graph, "source", [pair], hops=2, most_sources=50) == set()
    write(graph, *(labelled(many, n, "owls") for n in range(60)))
    both = {pair, (pair[1], pair[0])}
    for hops in (2, 3):
        assert find_unconnected_pairs(graph, "source", list(both), hops=hops, most_sources=50) == both, hops


@pytest.mark.parametrize("between", [["hub"], ["hub", "other"], ["other", "hub"]])
def test_concepts_are_connected_by_paths_of_rare_concepts(
    graph: Graph, driver: neo4j.Driver, between: list[str]
) -> None:
    path = ["a", *between, "b"]
    rows(
        driver,
        "UNWIND $path AS id CREATE (:Concept {concept_id: id})-[:EVIDENCED_BY]->(:Instance)",
        path=path,
    )
    rows(
        driver,
        "UNWIND $steps AS step MATCH (a:Concept {concept_id: step[0]}), (b:Concept {concept_id: step[1]}) "
        "CREATE (a)-[:RELATED_TO {relation_id: step[0]}]->(b)",
        steps=[list(step) for step in pairwise(path)],
    )
    rows(
        driver,
        "MATCH (c:Concept {concept_id: 'hub'}) UNWIND ['s1', 's2', 's3'] AS id "
        "CREATE (c)-[:APPEARS_IN]->(:Source {source_id: id})",
    )
    steps = len(path) - 1

    def is_apart(hops: int, most_sources: int) -> bool:
        pair = ("a", "b")
        return find_unconnected_pairs(graph, "concept", [pair], hops=hops, most_sources=most_sources) == {
            pair
        }

    assert not is_apart(steps, 3)
    assert is_apart(steps - 1, 3)
    assert is_apart(steps, 2)
