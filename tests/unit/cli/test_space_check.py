"""Findings of `kg admin spaces check`, with their fixes."""

from __future__ import annotations

import pytest

from kg_api.schemas.embedding import Finding, SpaceCheck
from kg_cli.admin.embedding import FIXES, print_check


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
