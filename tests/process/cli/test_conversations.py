from __future__ import annotations

import json
from pathlib import Path

from tests.process.cli.conftest import Kg

LEASES = "A worker renews its lease every ten seconds, and a lease that is lost goes to another worker."
TALK = [
    {"author": "Ada", "timestamp": "2026-03-01T09:30:00+01:00", "text": LEASES},
    {"author": "Bob", "text": "# Never!"},
]


def test_conversation_is_a_list_or_lines_or_one_message(kg: Kg, folder: Path) -> None:
    listed, lines = folder / "talk.json", folder / "talk.jsonl"
    listed.write_text(json.dumps({"messages": TALK}), encoding="utf-8")
    lines.write_text("\n".join(map(json.dumps, TALK)) + "\n", encoding="utf-8")
    ran = kg("conversation", str(listed), "-o", "talks", "-t", "Standup")
    assert ran.returncode == 0, ran.stderr
    assert "talks / Standup: created, 2 sources added" in ran.stdout
    again = kg("conversation", str(lines), "-o", "talks", "-t", "Standup", "--json")
    assert json.loads(again.stdout)["change"] == "unchanged"
    one = kg("conversation", "-", "-o", "talks", "-t", "One", stdin=json.dumps(TALK[0]))
    assert "1 source added" in one.stdout
