"""Pictures as a person at a terminal has them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.process.cli.conftest import Kg
from tests.support.images import drawn, encoded, exif

BOAT = encoded(drawn(600, 400), "JPEG", exif=exif({0x010E: "A red boat"}))


def test_pictures_that_notes_name_come_with_them(kg: Kg, folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "img").mkdir()
    (folder / "img" / "boat.jpg").write_bytes(BOAT)
    (folder / "docs" / "a.md").write_text("Words.\n\n![A red boat](../img/boat.jpg)\n\n![Gone](gone.png)\n")
    (folder / "b.html").write_text('<p>Words.</p><img alt="A red boat" src="img/boat.jpg">')
    taken = kg("ingest", str(folder), "--ontology", "notes")
    assert "3 documents created" in taken.stdout, taken.stdout
    assert "did not come with it (1): gone.png" in " ".join(taken.stdout.split())
    page = json.loads(kg("images", "list", "--ontology", "notes", "--json").stdout)
    assert sorted(each["document"] for each in page["images"]) == ["b.html", "docs/a.md", "img/boat.jpg"]
    assert len({each["image"]["storage_key"] for each in page["images"]}) == 1
    alone = kg("ingest", str(folder / "docs" / "a.md"), "--ontology", "alone")
    assert "did not come with it (2)" in " ".join(alone.stdout.split())


def test_pictures_are_taken_from_a_folder_listed_shown_and_saved(kg: Kg, folder: Path) -> None:
    (folder / "boat.jpg").write_bytes(BOAT)
    (folder / "broken.png").write_bytes(encoded(drawn())[:60])
    (folder / "words.md").write_text("Some words.")
    taken = kg("ingest", str(folder), "--ontology", "notes")
    assert "2 documents created" in taken.stdout, taken.stdout
    assert "damaged picture" in taken.stdout + taken.stderr

    listed = " ".join(kg("images", "list").stdout.split())
    assert "notes / boat.jpg" in listed
    assert "600 x 400" in listed
    page = json.loads(kg("images", "list", "--ontology", "notes", "--json").stdout)
    (identity,) = [each["source_id"] for each in page["images"]]

    shown = kg("images", "show", identity[:8]).stdout
    assert "image/jpeg" in shown
    assert "A red boat" in shown

    saved = folder / "saved.jpg"
    assert kg("images", "save", identity, str(saved)).returncode == 0
    assert saved.read_bytes() == BOAT
    refused = kg("images", "save", identity, str(saved), "--thumbnail")
    assert "--force" in refused.stderr
    assert saved.read_bytes() == BOAT
    assert kg("images", "save", identity, str(saved), "--thumbnail", "--force").returncode == 0
    assert saved.read_bytes()[8:12] == b"WEBP"

    (folder / "words.md").write_text("A red boat is no picture.")
    kg("ingest", str(folder / "words.md"), "--ontology", "notes")
    found = kg("search", "red boat", "--mode", "text").stdout
    assert "picture of 600 x 400" in " ".join(found.split())
    for kind, names in (("image", ["boat.jpg"]), ("passage", ["words.md"])):
        asked = ("red boat", "--mode", "text", "--kind", kind, "--json")
        for command in ("search", "hybrid"):
            hits = json.loads(kg(command, *asked).stdout)["sources"]
            assert [each["document"] for each in hits] == names


def test_a_passage_is_not_shown_as_a_picture(kg: Kg, folder: Path) -> None:
    (folder / "words.md").write_text("Some words.")
    kg("ingest", str(folder / "words.md"), "--ontology", "notes")
    refused = kg("images", "show", "notes/words.md#0")
    assert refused.returncode == 2
    assert "a passage of text" in refused.stderr
    assert "no pictures here" in kg("images", "list", "--ontology", "notes").stderr
