"""HTTP server that embeds images like Nomic, Cohere, Jina, Infinity, and vLLM.

An image's vector is its mean colour. A text's vector uses its colour words.
"""

import base64
import io
from email.parser import BytesParser
from typing import Any

import numpy as np
from PIL import Image

from tests.support.embedding_server import EmbeddingServer
from tests.support.image_models import COLOURS

SIZES = {
    "nomic-embed-vision-v1.5": 768, "nomic-embed-text-v1.5": 768,
    "embed-english-v3.0": 1024, "jina-clip-v2": 1024,
}  # fmt: skip


class ImageServer(EmbeddingServer):
    def __init__(self) -> None:
        super().__init__()
        self.pictures: list[bytes] = []

    def parse(self, content_type: str, content: bytes) -> dict[str, Any]:
        if not content_type.startswith("multipart/form-data"):
            return super().parse(content_type, content)
        head = f"content-type: {content_type}\r\n\r\n".encode()
        found: dict[str, Any] = {"images": [], "names": []}
        message: Any = BytesParser().parsebytes(head + content)
        for part in message.get_payload():
            name = part.get_param("name", header="content-disposition")
            payload = part.get_payload(decode=True)
            if part.get_filename():
                found["images"].append(payload)
                found["names"].append((name, part.get_filename()))
            else:
                found[str(name)] = payload.decode()
        return found

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        match path:
            case "/v1/embedding/image":
                rows = [self._of_picture(each) for each in body["images"]]
                return {
                    "embeddings": _sized(rows, body),
                    "usage": {"total_tokens": 1},
                    "model": body["model"],
                }
            case "/v1/embedding/text":
                rows = [_of_words(each) for each in body["texts"]]
                return {
                    "embeddings": _sized(rows, body),
                    "usage": {"total_tokens": 1},
                    "model": body["model"],
                }
            case "/v1/embeddings":
                rows = [self._of(each) for each in _inputs(body)]
                data = [
                    {"object": "embedding", "index": i, "embedding": each}
                    for i, each in enumerate(_sized(rows, body))
                ]
                return {"object": "list", "data": data[::-1], "model": body["model"]}
            case _:
                return None

    def _of(self, given: str) -> Any:
        head, _, content = given.partition(",")
        if not head.startswith("data:image/"):
            return _of_words(given)
        assert head == "data:image/jpeg;base64"
        return self._of_picture(base64.b64decode(content, validate=True))

    def _of_picture(self, content: bytes) -> Any:
        self.pictures.append(content)
        return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).mean(axis=(0, 1)) / 255


def _inputs(body: dict[str, Any]) -> list[str]:
    return [each.get("image") or each["text"] for each in body["input"]]


def _of_words(text: str) -> Any:
    found = [COLOURS[word] for word in text.lower().split() if word in COLOURS]
    return np.mean(found or [(0.5, 0.4, 0.3)], axis=0)


def _sized(rows: list[Any], body: dict[str, Any]) -> list[list[float]]:
    """Return vectors of length three, so that you can see if they are normalized."""
    asked = body.get("dimensions") or body.get("dimensionality")
    size = asked or SIZES.get(body["model"], 32)
    projection = np.random.default_rng(9).normal(size=(3, size))
    made = np.array([row @ projection for row in rows])
    return (3 * made / np.linalg.norm(made, axis=1, keepdims=True)).tolist()
