from __future__ import annotations

import pytest

from kg_api.client import KgClient
from kg_api.text.files import FileSelection
from kg_cli.documents.ingestion import Destination, show_preview


@pytest.mark.parametrize("as_json", [True, False])
def test_preview_with_json_prints_table_to_stderr(
    capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    with KgClient("http://127.0.0.1:9") as client:
        show_preview(client, FileSelection(), Destination("notes"), yes=True, as_json=as_json)
    told = capsys.readouterr()
    assert ("nothing is stored yet" in told.out) == (not as_json)
    assert ("nothing is stored yet" in told.err) == as_json
    assert told.out == "" or not as_json
