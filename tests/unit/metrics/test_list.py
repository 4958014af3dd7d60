"""docs/operations/monitoring.md lists every metric that there is, of its kind and with its labels."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.meters import metrics

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "monitoring.md"
SUFFIXES = {"counter": [""], "gauge": [""], "histogram": ["_bucket", "_count", "_sum"]}


def listed() -> dict[str, set[str]]:
    """The samples of the table, each with its labels."""
    found: dict[str, set[str]] = {}
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for name, kind, labels in rows:
        own = set(re.findall(r"`(\w+)`", labels))
        found |= {
            name + suffix: own | ({"le"} if suffix == "_bucket" else set()) for suffix in SUFFIXES[kind]
        }
    return found


def test_the_list_is_that_of_the_code() -> None:
    assert listed() == metrics()
    assert len(listed()) > 30
