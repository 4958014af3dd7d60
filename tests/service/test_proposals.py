from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.schemas.vocabulary import LINKED
from tests.service.conftest import sharing
from tests.support.concepts import state
from tests.support.embedding import run_jobs
from tests.support.proposals import GENEROUS, OWLS, TAXES, look, propose


def store_told(graph: Graph, url: str) -> None:
    with KgClient(url) as kg:
        propose(kg, graph)


shared = sharing(store_told)


def test_empty_list_explains_the_search_state(kg: KgClient, graph: Graph) -> None:
    kg.ingest_text(OWLS, ontology="notes", document="owls.md")
    run_jobs(graph)
    for empty in (kg.proposals("notes"), kg.proposals()):
        assert empty.notes == [
            "kg has not searched for links in notes yet: `kg proposals search --ontology notes`"
        ]
    kg.search_proposals("notes")
    look(graph)
    page = kg.proposals("notes", state="open")
    assert page.searched_at is not None
    assert page.notes == [f"kg searched for links in notes on {page.searched_at:%Y-%m-%d %H:%M} UTC"]
    assert kg.proposals("notes", state="accepted").notes == []
    kg.ingest_text(TAXES, ontology="notes", document="taxes.md")
    run_jobs(graph)
    assert kg.proposals("notes").notes[0].endswith("pending")


def test_an_accepted_link_of_concepts_is_a_relationship(kg: KgClient, graph: Graph) -> None:
    kg.ingest_text("Barn owls hunt voles.", ontology="notes", document="a.md")
    kg.ingest_text("An owl in a barn hunts mice.", ontology="notes", document="b.md")
    state(graph, "a.md", [("Barn owls", "Barn owls hunt voles.")])
    state(graph, "b.md", [("owl in a barn", "An owl in a barn hunts mice.")])
    graph.write("concepts/want", ontology="notes")
    run_jobs(graph)
    kg.search_proposals("notes")
    look(graph, **GENEROUS)
    (found,) = kg.proposals("notes", kind="concept").proposals
    first, second = (end.concept_id or "" for end in found.ends)
    assert {end.quote for end in found.ends} == {"Barn owls hunt voles.", "An owl in a barn hunts mice."}
    kg.accept_proposal(found.proposal_id)
    (related,) = kg.related_concepts(first).related
    assert (related.type, related.concept.concept_id, related.sources) == (LINKED, second, [])
    (path,) = kg.concept_paths(first, second).paths
    assert [step.type for step in path.steps] == [LINKED]
    kg.undo_proposal(found.proposal_id)
    assert kg.related_concepts(first).related == []
