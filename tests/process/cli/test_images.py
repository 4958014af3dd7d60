import hashlib
import json
from pathlib import Path

from tests.process.cli.conftest import Kg
from tests.support.images import drawn, encoded, exif

BOAT = encoded(drawn(600, 400), "JPEG", exif=exif({0x010E: "A red boat"}))


def test_images_are_ingested_listed_shown_and_saved(kg: Kg, folder: Path) -> None:
    (folder / "boat.jpg").write_bytes(BOAT)
    (folder / "broken.png").write_bytes(encoded(drawn())[:60])
    (folder / "words.md").write_text("Some words.")
    taken = kg("ingest", str(folder), "--ontology", "notes")
    assert "2 documents created" in taken.stdout, taken.stdout
    assert "is damaged" in taken.stdout + taken.stderr

    listed = " ".join(kg("images", "list").stdout.split())
    assert "notes / boat.jpg" in listed
    assert "600 x 400" in listed
    page = json.loads(kg("images", "list", "--ontology", "notes", "--json").stdout)
    ((identity, key),) = [(each["source_id"], each["image"]["storage_key"]) for each in page["images"]]

    saved = folder / "saved.jpg"
    assert kg("images", "save", identity, str(saved)).returncode == 0
    assert hashlib.sha256(saved.read_bytes()).hexdigest() == key
    refused = kg("images", "save", identity, str(saved), "--thumbnail")
    assert "--force" in refused.stderr
    assert hashlib.sha256(saved.read_bytes()).hexdigest() == key
    assert kg("images", "save", identity, str(saved), "--thumbnail", "--force").returncode == 0
    assert saved.read_bytes()[8:12] == b"WEBP"

    (folder / "words.md").write_text("A red boat is no picture.")
    kg("ingest", str(folder / "words.md"), "--ontology", "notes")
    found = kg("search", "red boat", "--mode", "text").stdout
    assert "image of 600 x 400" in " ".join(found.split())
    for kind, names in (("image", ["boat.jpg"]), ("passage", ["words.md"])):
        asked = ("red boat", "--mode", "text", "--kind", kind, "--json")
        for command in ("search", "hybrid"):
            hits = json.loads(kg(command, *asked).stdout)["sources"]
            assert [each["document"] for each in hits] == names
