from __future__ import annotations

import json
from pathlib import Path

from PIL import Image

from tests.process.cli.conftest import Kg
from tests.service.test_formats import SAID, pdf


def test_page_image_is_saved_with_marked_words(kg: Kg, folder: Path) -> None:
    (folder / "fruit.pdf").write_bytes(pdf())
    (folder / "words.md").write_text("Some words.")
    kg("ingest", str(folder), "--ontology", "notes")
    found = kg("search", SAID[1], "--mode", "text", "--json").stdout
    (hit,) = [each for each in json.loads(found)["sources"] if each["document"] == "fruit.pdf"]
    saved = folder / "page.png"
    asked = ("documents", "page", "fruit.pdf", "2", "--out", str(saved))

    done = kg(*asked, "--source", hit["source_id"][:8], "--width", "300")
    assert done.returncode == 0, done.stderr
    assert "page 2 of 3; 4 words boxed" in done.stderr
    with Image.open(saved) as picture:
        assert picture.size[0] == 300
    before = saved.read_bytes()
    assert "--force" in kg(*asked).stderr
    assert saved.read_bytes() == before
    assert "none of these words" in kg(*asked, "--query", "apricots", "--force").stderr
    assert saved.read_bytes() != before

    assert "has 3 pages" in kg("documents", "page", "fruit.pdf", "4", "--out", "-").stderr
    assert "not PDF" in kg("documents", "page", "words.md", "1", "--out", "-").stderr
    assert kg("documents", "page", "fruit.pdf", "0", "--out", "-").returncode == 2
