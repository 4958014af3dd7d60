"""A change of the model that sees pictures while people search by pictures: errors, mixed answers, p95.

A folder of pictures is ingested and embedded by colours and edges, then built in a space of a tiny ONNX model
that is made for it, checked, activated, rolled back and activated again, while pictures like stored ones are
searched for.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.stack import Stack, machine, stack
from benchmarks.switch import ONTOLOGY, Load, timed, told, until
from kg_api.client import KgClient
from tests.support.image_models import write_model

FIRST, NEW = "default_images", "new_pictures"
QUIET_SECONDS = 10.0


class ImageLoad(Load):
    """Asks for pictures like stored ones."""

    def search(self, client: KgClient, question: str) -> tuple[list[str], set[str], bool]:
        """By the id of a picture."""
        hits = client.search_images(source_id=question, ontology=ONTOLOGY, limit=10)
        through = {each.space for hit in hits.images for each in hit.through if each.space}
        return hits.spaces, through, bool(hits.degraded)


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with pictures")
    parser.add_argument("--rate", type=float, default=10.0, help="searches a second")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_model(Path(folder) / "colours")
        os.environ["KG_IMAGE_EMBEDDING__FOLDER"] = folder
        os.environ["KG_CONVERSION__OCR"] = "off"
        with stack() as running:
            running.kg("ingest", str(chosen.folder), "--ontology", ONTOLOGY, "--wait")
            with running.client() as client:
                print(json.dumps({"machine": machine(), **_switched(running, client, chosen.rate)}, indent=2))


def _switched(running: Stack, client: KgClient, rate: float) -> dict[str, Any]:
    ids = [each.source_id for each in client.images(ONTOLOGY).images]
    load = ImageLoad(running.home.build_api_url() or "", rate, ids)
    thread = threading.Thread(target=load.run)
    thread.start()
    try:
        steps = _steps(client, load)
    finally:
        load.stopping.set()
        thread.join()
    return {"pictures": len(ids), "rate": rate, **steps, **told(load, (FIRST, NEW))}


def _steps(client: KgClient, load: Load) -> dict[str, Any]:
    """Everything that a switch is made of, each with its seconds."""
    time.sleep(QUIET_SECONDS)
    client.add_embedding_space(NEW, modality="image", provider="onnx", model="colours")
    load.phase = "during"
    built = timed(lambda: _build(client))
    checked = client.check_space(NEW)
    if not checked.ok:
        raise SystemExit(f"the check found something wrong: {checked}")
    seconds = {"activate": client.activate_space(NEW).seconds}
    load.phase = "after"
    time.sleep(QUIET_SECONDS)
    seconds["rollback"] = client.rollback_space(NEW).seconds
    answering = timed(lambda: until(lambda: load.answers[-1].spaces == (FIRST,)))
    seconds["activate_again"] = client.rollback_space(FIRST).seconds
    time.sleep(5)
    client.drop_space(FIRST)
    time.sleep(QUIET_SECONDS)
    return {"build_seconds": built, "switch_seconds": seconds, "seconds_until_rolled_back_answers": answering}


def _build(client: KgClient) -> None:
    client.build_space(NEW)
    until(lambda: client.check_space(NEW).ok)


if __name__ == "__main__":
    main()
