"""Findings of `kg admin spaces check`, with their fixes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from kg_api.client import KgClient
from kg_api.schemas.embedding import Build, Finding, SpaceBuilding, SpaceCheck
from kg_cli.admin.embedding import FIXES, print_check, wait_until_built
from kg_cli.jobs import report

BUILD = Build.model_construct(ontology="notes", job_id="a")


def test_failed_checks_name_their_fixes(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [Finding(name=name, ok=False, detail="notes: 3") for name in ("complete", "refused", "refused")]
    found = [Finding(name="model", ok=True, detail="returns the vector"), *wrong]
    print_check(SpaceCheck(slug="small", ok=False, findings=found))
    told = capsys.readouterr()
    assert "NOT OK" not in told.out
    assert told.err.splitlines() == [
        "-> complete: wait until the build is complete: kg jobs watch",
        f"-> refused: {FIXES['refused']}",
        "small cannot be activated until all checks are ok.",
    ]
    print_check(SpaceCheck(slug="small", ok=True, findings=found[:1]))
    assert "kg admin spaces activate small" in capsys.readouterr().err


def test_build_waits_for_later_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[list[str]]()
    monkeypatch.setattr(report, "POLL_SECONDS", 0)
    monkeypatch.setattr(report, "wait_for_jobs", lambda _, jobs: waited.append(jobs))
    monkeypatch.setattr(
        report, "unfinished_jobs", lambda *_, kind, **__: ["b"] if kind == "concept_embedding" else []
    )
    states = [Finding(name=name, ok=False, detail="") for name in ("concepts", "refused")]
    checks = iter([states, states[1:]])  # a rejected text remains for the activation to report
    client = SimpleNamespace(check_space=lambda slug: SpaceCheck(slug=slug, ok=False, findings=next(checks)))
    wait_until_built(cast("KgClient", client), SpaceBuilding(slug="s", builds=[BUILD]))
    assert waited == [["a"], ["b"]]
    wait_until_built(cast("KgClient", client), SpaceBuilding(slug="s", builds=[]))
    assert waited[2:] == [[]]
