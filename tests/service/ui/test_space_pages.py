from __future__ import annotations

import httpx
import neo4j

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.service.asking import embedded
from tests.service.test_switching import age_the_drop
from tests.service.ui.test_pages import HTMX, shown, words
from tests.support.embedding import run_jobs

OTHER = {"slug": "other", "provider": "deterministic", "dimensions": "64"}
AT = "/ui/spaces/other"


def text_of(http: httpx.Client, path: str) -> str:
    return " ".join(words([shown(http, path)]))


def create(http: httpx.Client) -> None:
    made = http.post("/ui/spaces", data=OTHER)
    assert (made.status_code, made.headers["location"]) == (303, AT), made.text


def test_the_life_of_a_space(http: httpx.Client, kg: KgClient, graph: Graph, driver: neo4j.Driver) -> None:
    embedded(graph, http, "One passage.\n\nAnother passage.")
    create(http)
    row = words(shown(http, "/ui/spaces").xpath("//tbody/tr[2]/*"))
    assert (row[0], row[1], row[3]) == ("other", "Unused", "64")
    preview = http.post(f"{AT}/build", data={"dry_run": "true"})
    assert "Cost of building other" in preview.text
    assert "price free" in preview.text
    assert kg.embedding_config("notes").answering is None, "it was only asked"
    assert http.post(f"{AT}/build").headers["location"] == AT
    assert "0 of " in text_of(http, AT)
    assert "Not ready to activate" in text_of(http, f"{AT}/check")
    refused = http.post(f"{AT}/activate")
    assert (refused.status_code, "not built yet" in refused.text) == (409, True)
    run_jobs(graph)
    assert "Ready to activate for notes." in text_of(http, f"{AT}/check?ontology=notes")
    assert http.post(f"{AT}/activate").status_code == 303
    assert kg.embedding_config("notes").config.space == "other"
    assert "Answers for notes" in text_of(http, AT)
    assert "This space is in use: it answers for notes" in text_of(http, f"{AT}/drop")
    assert http.post(f"{AT}/drop").status_code == 409
    before = shown(http, f"{AT}/rollback?ontology=notes")
    assert words(before.xpath("//tbody/tr/*")) == ["notes", "other", "default"]
    assert "New ontologies use the previous default space" not in " ".join(words([before]))
    assert "New ontologies use the previous default space" in text_of(http, f"{AT}/rollback")
    assert kg.embedding_config("notes").config.space == "other", "it was only looked at"
    (form,) = before.xpath("//main//form")
    assert http.post(form.get("action"), data=dict(form.form_values())).status_code == 303
    assert kg.embedding_config("notes").config.space == "default"
    assert http.post("/ui/spaces/default/rollback").status_code == 303
    (drop,) = shown(http, "/ui/spaces/default/drop").xpath("//main//form/@action")
    assert "notes can then no longer roll back" in text_of(http, "/ui/spaces/default/drop")
    assert http.post(drop).headers["location"] == "/ui/spaces"
    assert "Dropping" in text_of(http, "/ui/spaces")
    age_the_drop(driver)
    run_jobs(graph)
    assert [each.slug for each in kg.embedding_spaces().spaces] == ["other"]


def test_space_page_offers_possible_actions(http: httpx.Client) -> None:
    create(http)
    page = shown(http, AT)
    led = {str(each) for each in page.xpath("//main//form/@action | //main//a/@href")}
    assert led == {f"{AT}/{each}" for each in ("build", "check", "drop")} | {"/ui/spaces"}
    assert http.get(f"{AT}/rollback").status_code == 409, "there is nothing to go back to"
    assert shown(http, f"{AT}/check").xpath("//main//form/@action") == [f"{AT}/build"]


def test_check_reports_ontologies_without_vectors(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, "One passage.\n\nAnother passage.")
    create(http)
    for chosen in ("", "?ontology=notes"):
        page = shown(http, f"{AT}/check{chosen}")
        assert words(page.xpath("//p[@class='nothing']"))[0].startswith("Nothing is built yet")
        assert "Ready to activate" not in " ".join(words([page]))
        assert page.xpath("//form[contains(@action, '/activate')]") == []
    (form,) = page.xpath("//main//form")
    look = http.post(form.get("action"), data={**dict(form.form_values()), "dry_run": "true"})
    assert "Cost of building other" in look.text
    default = shown(http, "/ui/spaces/default/check?ontology=notes")
    assert "Ready to activate for notes." in " ".join(words([default]))


def test_progress_refreshes_while_jobs_run(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, "One passage.\n\nAnother passage.")
    create(http)
    for path in ("/ui/spaces", AT):
        assert shown(http, path).xpath("//*[@data-poll]") == []
    http.post(f"{AT}/build", data={"activate_when_built": "true"})
    for path in ("/ui/spaces", AT):
        part = http.get(path, headers=HTMX).text
        assert "<h1" not in part
        assert "data-poll" in part
        assert 'aria-label="Built of notes"' in part
    text = text_of(http, f"{AT}/rollback")
    assert "default unchanged, cancels the build" in text
    assert "notes: 0 of " in text
    run_jobs(graph)
    assert shown(http, AT).xpath("//*[@data-poll]") == []
    assert "Answers for notes" in text_of(http, AT)


def test_invalid_space_form_is_reported(http: httpx.Client) -> None:
    for wrong in ({"slug": "A b"}, {"provider": "none"}, {"dimensions": "0"}, {"modality": "image"}):
        assert http.post("/ui/spaces", data={**OTHER, **wrong}).status_code == 422, wrong
    assert http.get(AT).status_code == 404
    assert http.get("/ui/spaces/default/check?ontology=nowhere").status_code == 404
    assert http.post("/ui/spaces/default/build", data={"ontology": "nowhere"}).status_code == 404
