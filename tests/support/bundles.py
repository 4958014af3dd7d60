import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from kg_api.schemas.bundles import FORMAT, BundledOntology
from kg_api.schemas.embedding import EmbeddingConfig

TEXTS = ("The first passage. ", "The second one. ")
PICTURE = b"no picture, but a file"
KEY = hashlib.sha256(PICTURE).hexdigest()
HASH = "0" * 32
MARK = "0" * 16
Line = dict[str, Any]


def vector(*values: float) -> str:
    """Scale a vector to length 1 if possible, as it would be in a bundle."""
    length = np.linalg.norm(values)
    if 0 < length < np.inf:
        values = tuple(np.asarray(values) / length)
    return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()


def configuration(ontology: str = "notes") -> BundledOntology:
    return BundledOntology(
        ontology=ontology, embedding=EmbeddingConfig(), space_fingerprint=MARK, model="a model", mark=MARK
    )


def lines(document: str = "a.md") -> list[Line]:
    about = {"document": document, "content_hash": HASH}
    return [
        {
            "kind": "document",
            **about,
            "title": document,
            "format": "text",
            "characters": len("".join(TEXTS)),
            "original": KEY,
            "sources": [{"text": TEXTS[0], "blocks": [["paragraph", 0]]}, {"text": TEXTS[1]}],
        },
        {
            "kind": "passages",
            **about,
            "mark": MARK,
            "passages": [
                {
                    "paragraph": 0,
                    "embedded": True,
                    "vector": vector(1, 2, 3),
                    "evidence": [
                        {
                            "extracted_with": "m1",
                            "concepts": [{"label": "passage", "quotes": [{"start": 4, "end": 9}]}],
                        }
                    ],
                },
                {"paragraph": 1, "embedded": True},
            ],
            "chunks": [
                {
                    "chunk_id": "1" * 32,
                    "first": 1,
                    "last": 1,
                    "offset": 0,
                    "end_offset": 5,
                    "vector": vector(3, 2, 1),
                }
            ],
        },
    ]


class HandmadeBundle:
    """Valid bundle. If you change it, you can use `save` to write it with a new manifest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines = lines()
        self.manifest: dict[str, Any] = {}
        blob = folder / "blobs" / KEY[:2] / KEY
        blob.parent.mkdir(parents=True)
        blob.write_bytes(PICTURE)
        self.save()

    @property
    def path(self) -> Path:
        return self.folder / "ontology-0001.jsonl"

    def save(self) -> None:
        content = "".join(json.dumps(line) + "\n" for line in self.lines).encode()
        self.path.write_bytes(content)
        documents = [line for line in self.lines if line["kind"] == "document"]
        self.manifest = {
            "format": FORMAT,
            "kg_version": "0.1",
            "schema_version": 1,
            "created_at": "2026-11-26T12:00:00+00:00",
            "files": [
                {
                    "path": self.path.name,
                    "bytes": len(content),
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "documents": len(documents),
                    "sources": sum(len(line["sources"]) for line in documents),
                    "configuration": configuration().model_dump(mode="json"),
                }
            ],
            "blobs": {"files": 1, "bytes": len(PICTURE), "lost": []},
            "left_out": [],
        }
        self.save_manifest()

    def save_manifest(self) -> None:
        """Write the manifest without changes, even if it is wrong."""
        (self.folder / "manifest.json").write_text(json.dumps(self.manifest))
