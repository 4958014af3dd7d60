import neo4j
import pytest

from kg_api.concepts.search import ConceptService
from kg_api.graph.jobs import enqueue_slot, find_job, read_jobs_page
from kg_api.schemas.embedding import Regeneration
from tests.support.concept_work import kinds, learn, vectors
from tests.support.kg import Kg

SHARED = "paper nest"


@pytest.fixture
def learned(kg: Kg) -> Kg:
    learn(kg.graph, wanted=False)
    learn(kg.graph, SHARED, paragraph=1, wanted=False)
    kg.work()
    return kg


def counted(kg: Kg) -> tuple[int, int, int]:
    told = kg.configure.status("notes").concepts
    assert told is not None
    assert told.stale == told.refused == 0
    return told.embedded, told.missing, told.deferred


def test_concept_is_embedded_from_its_second_source(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph, wanted=False)
    assert kinds(kg.graph) == [], "nothing is asked for that is not due"
    enqueue_slot(kg.graph, "backfill")
    kg.work()
    assert counted(kg) == (0, 0, 5), "what is put off is not missing"
    assert kinds(kg.graph) == []
    learn(kg.graph, SHARED, paragraph=1, wanted=False)
    assert counted(kg) == (0, 1, 4)
    kg.work()
    assert counted(kg) == (1, 0, 4)
    assert vectors(driver).keys() == {SHARED}


def test_first_vector_search_starts_concept_embedding(learned: Kg) -> None:
    found = ConceptService(learned.graph, learned.spaces).search("waggle dance", None, 5)
    assert found.concepts[0].label == "waggle dance", "by its name"
    told = [each.effect for each in found.degraded if each.part == "concepts"]
    assert told == ["concepts of 'notes' are still being embedded. Until then, kg finds them by name only"]
    jobs, _ = read_jobs_page(learned.graph, state="queued", kind=None, ontology=None, offset=0, limit=9)
    assert [each.kind for each in jobs] == ["concept_embedding"]
    learned.work()
    job = find_job(learned.graph, jobs[0].job_id)
    assert (job.done, job.total) == (4, 4), "the worker has counted, not the search"
    assert counted(learned) == (5, 0, 0)
    again = ConceptService(learned.graph, learned.spaces).search("waggle dance", None, 5)
    assert not [each for each in again.degraded if each.part == "concepts"]
    learn(learned.graph, "another", paragraph=2, wanted=False)
    learned.work()
    assert counted(learned) == (6, 0, 0), "from then on all are"


@pytest.mark.parametrize("mode", ["hybrid", "concept", "source"])
def test_a_search_through_concepts_starts_it(learned: Kg, mode: str) -> None:
    found = learned.find_both("waggle dance", mode=mode)
    assert sum("still being embedded" in each.effect for each in found.degraded) == 1
    assert counted(learned) == (1, 4, 0)


def test_a_search_by_words_does_not(learned: Kg) -> None:
    found = learned.find_both("waggle dance", mode="text")
    assert [each.label for each in found.concepts] == ["waggle dance"]
    assert counted(learned) == (1, 0, 4)


def test_request_embeds_all_concepts(learned: Kg) -> None:
    assert learned.requests.embed("notes").due == 0
    assert counted(learned) == (1, 0, 4), "whoever embeds sources does not ask for them"
    quote = learned.requests.regenerate(Regeneration(ontology="notes", type="concept", dry_run=True))
    assert (quote.due, counted(learned)) == (4, (1, 0, 4)), "and a question for the price neither"
    assert learned.requests.regenerate(Regeneration(ontology="notes", type="concept")).due == 4
    learned.work()
    assert counted(learned) == (5, 0, 0)
