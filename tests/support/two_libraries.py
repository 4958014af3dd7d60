import hashlib
from dataclasses import dataclass, fields
from typing import Any, Final

import httpx

from kg_api.access.keys import create_key
from kg_api.graph.client import Graph
from kg_api.local.processes import Home
from kg_api.schemas.operations import NewKey
from tests.support.communities import TOPICS, Detecting
from tests.support.evaluations import measured, save
from tests.support.images import drawn, encoded
from tests.support.pictures import pictured
from tests.support.proposals import EARS, LEASE, OWLS, RENT, Proposing
from tests.support.running import Service

OWN: Final = "heronry"
OTHER: Final = "zanzibar"
SECRET: Final = "zanzibar"
"""Word that is used in each text, name, and label of the other ontology, and nowhere else."""
NOWHERE: Final = "kilimanja"
"""Name for an ontology that does not exist and is not similar to the others."""
NEARLY: Final = "zanziba"
"""Name for an ontology that does not exist and is similar to the other one."""
SAME_NAME: Final = "same.md"

ASKED = {"query_text": "common ferry"}
SEED = {"step": "seed", "by": "text", "value": "common ferry"}


@dataclass(frozen=True)
class Ids:
    ontology: str
    document: str
    source: str
    image: str
    pdf: str
    concept: str
    job: str
    proposal: str
    community: str
    evaluation: str


@dataclass(frozen=True)
class Libraries:
    """Clients by key: `all`, `own` (one ontology), and for reading `two`, `near` (own and missing), and
    `empty` (missing).
    """

    keys: dict[str, str]
    own: Ids
    other: Ids


def open_libraries(graph: Graph, service: Service, home: Home) -> Libraries:
    wanted = (
        NewKey(name="all", scope="admin"),
        NewKey(name="own", scope="admin", ontologies=[OWN]),
        NewKey(name="two", scope="read", ontologies=[OWN, NOWHERE]),
        NewKey(name="near", scope="read", ontologies=[OWN, NEARLY]),
        NewKey(name="empty", scope="read", ontologies=[NEARLY]),
    )
    made = {each.name: create_key(graph, each, "local").key for each in wanted}
    for ontology in (OWN, OTHER):
        label = f"of {ontology}"
        save(home.evaluations, name_of_evaluation(ontology), measured(label, [1, 2], ontology=ontology))
    (home.evaluations / f"{SECRET} is broken.json").write_text("{")
    with sending(service, made["all"]) as http:
        return Libraries(made, *fill(graph, http))


def name_of_evaluation(ontology: str) -> str:
    return hashlib.sha256(ontology.encode()).hexdigest()[:16]


def sending(service: Service, key: str) -> httpx.Client:
    return httpx.Client(base_url=service.url, timeout=60, headers={"Authorization": f"Bearer {key}"})


def fill(graph: Graph, http: httpx.Client) -> tuple[Ids, Ids]:
    """Store and embed both ontologies, and detect links and communities. Return their ids.

    Args:
        graph: Database of the service.
        http: Client with all rights.
    """
    proposing = Proposing(graph)
    detecting = Detecting(graph)
    for ontology, word in ((OWN, "heron"), (OTHER, SECRET)):
        for topic, labels in TOPICS.items():
            detecting.add(f"{word} {topic}", tuple(f"{word} {each}" for each in labels), ontology)
        for name, text in (
            (("one", OWLS), ("two", EARS)) if ontology == OWN else (("one", RENT), ("two", LEASE))
        ):
            proposing.add(f"{word} {name}.md", f"{word} {text}", ontology=ontology)
        _ingest(http, ontology, word)
    proposing.work()
    detecting.work()
    return _ids(http, OWN), _ids(http, OTHER)


def _ingest(http: httpx.Client, ontology: str, word: str) -> None:
    text = (
        f"# {word}\n\nThe common ferry leaves at noon, says the {word}.\n\nThe {word} comes back at night.\n"
    )
    about = {"metadata": {"author": word, word: True, "tags": [word]}, "title": f"A {word}"}
    for name in (SAME_NAME, f"{word}/notes.md"):
        _send(http, json={"ontology": ontology, "document": name, "text": f"{text}\n{name}\n", **about})
    waiting = {"ontology": ontology, "document": f"{word} waits.md", "text": f"{word} waits", "review": True}
    _send(http, json=waiting)
    picture = encoded(drawn(640, 480), "PNG")
    _send(
        http, files={"file": (f"{word}.png", picture)}, data={"ontology": ontology, "title": f"{word} boat"}
    )
    page = pictured([f"The {word} lands."], text_pages=[1])
    _send(http, files={"file": (f"{word}.pdf", page)}, data={"ontology": ontology})


def _send(http: httpx.Client, **sent: Any) -> None:
    assert http.post("/documents", **sent).status_code in {200, 202}


def _ids(http: httpx.Client, ontology: str) -> Ids:
    def one(path: str, of: str, key: str, **asked: Any) -> str:
        found = http.get(path, params={"ontology": ontology, **asked}).json()[of]
        assert found, (path, ontology)
        return found[0][key]

    documents = http.get("/documents", params={"ontology": ontology}).json()["documents"]
    named = {each["document"]: each["document_id"] for each in documents}
    reading = http.get(f"/reading/{named[SAME_NAME]}").json()
    within = f"/ontologies/{ontology}"
    return Ids(
        ontology=ontology,
        document=named[SAME_NAME],
        source=reading["sources"][0]["source_id"],
        image=one("/images", "images", "source_id"),
        pdf=next(identity for name, identity in named.items() if name.endswith(".pdf")),
        concept=http.get(f"{within}/concepts").json()["concepts"][0]["concept_id"],
        job=one("/jobs", "jobs", "job_id"),
        proposal=one("/proposals", "proposals", "proposal_id"),
        evaluation=name_of_evaluation(ontology),
        community=http.get(f"{within}/communities").json()["communities"][0]["community_id"],
    )


def fill_in(asked: tuple[str, Any], own: Ids, other: Ids) -> tuple[str, Any]:
    """Return a route and its body. The ids are used for `{own_document}` and `{document}`."""
    route, body = asked
    for each in fields(Ids):
        for slot, value in ((f"{{own_{each.name}}}", own), (f"{{{each.name}}}", other)):
            route = route.replace(slot, getattr(value, each.name))
            body = replace_in(body, slot, getattr(value, each.name))
    return route, body


def replace_in(body: Any, slot: str, value: str) -> Any:
    """Return a body that has a value for each slot."""
    if isinstance(body, dict):
        return {name: replace_in(each, slot, value) for name, each in body.items()}
    if isinstance(body, list):
        return [replace_in(each, slot, value) for each in body]
    return body.replace(slot, value) if isinstance(body, str) else body


def ask(client: httpx.Client, route: str, body: Any) -> httpx.Response:
    """Send `METHOD PATH`. If this is an event stream, only read the headers."""
    method, path = route.split(" ", 1)
    with client.stream(method, path, json=body if method in {"POST", "PUT", "PATCH"} else None) as answer:
        if not answer.headers["content-type"].startswith("text/event-stream"):
            answer.read()
        return answer


def state_of_other(everything: httpx.Client) -> dict[str, Any]:
    about = {"ontology": OTHER}
    paths = ("documents", "images", "jobs", "proposals", "waiting")
    return {path: everything.get(f"/{path}", params=about).json() for path in paths}
