from collections.abc import Iterator

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from kg_api.access.keys import ANYONE
from kg_api.errors import Unavailable
from kg_api.graph.keys import AuditRecord
from kg_api.web.app import ROUTES
from kg_api.web.shared import problems
from kg_api.web.shared.routes import READING, ApiRoute
from kg_api.web.shared.scopes import requires
from kg_api.web.shared.security import read_caller


class Changed(BaseModel):
    document: str
    text: str = "what nobody is to read in a log"


class Recorder(list[AuditRecord]):
    def add(self, record: AuditRecord) -> None:
        self.append(record)


class Known:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            read_caller(scope).known = ANYONE
        await self._app(scope, receive, send)


router = APIRouter(route_class=ApiRoute)


@router.post("/change")
@requires("write")
def change() -> Changed:
    return Changed(document="a.md")


@router.post("/away")
@requires("write")
def away() -> None:
    raise Unavailable("the database went away in the middle")


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def client(recorder: Recorder) -> Iterator[TestClient]:
    app = FastAPI()
    app.include_router(router)
    app.state.audit = recorder
    problems.install(app)
    app.add_middleware(Known)
    with TestClient(app, follow_redirects=False) as made:
        yield made


@pytest.mark.parametrize(
    ("path", "status", "outcome"), [("/change", 200, {"document": "a.md"}), ("/away", 503, {})]
)
def test_change_is_written_down_with_its_outcome(
    client: TestClient, recorder: Recorder, path: str, status: int, outcome: dict[str, str]
) -> None:
    assert client.post(path).status_code == status
    told = [(each.path, each.status, each.key_id, each.outcome) for each in recorder]
    assert told == [(path, status, "anyone", outcome)]


def test_audited_route_has_a_summary() -> None:
    audited = [each for each in ROUTES if each.rule.audited and (each.methods or set()) - READING]
    assert len(audited) > 50
    assert [each.path_format for each in audited if not each.summary] == []
