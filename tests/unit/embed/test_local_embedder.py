import json
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput
from kg_api.providers.embedding_port import CATALOGUE, DEFAULT, describe_unknown_languages, knows_language
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import TOKENIZER, WEIGHTS

SPEC = DEFAULT.spec
Run = Callable[[NDArray[np.int64]], NDArray[np.float32]]


class Session:
    """Session that can be used instead of onnxruntime. `answer` is used to compute the last layer from
    the token ids."""

    def __init__(self, answer: Run) -> None:
        self._answer = answer

    def get_inputs(self) -> list[object]:
        return []

    def get_outputs(self) -> list[object]:
        return []

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, NDArray[Any]]
    ) -> list[NDArray[np.float32]]:
        assert output_names is not None
        return [self._answer(input_feed["input_ids"])]


def answering(folder: Path, answer: Run, threads: int = 2) -> LocalEmbedder:
    embedder = LocalEmbedder(folder, SPEC, threads)
    embedder._model._graph._session = Session(answer)  # pyright: ignore[reportAttributeAccessIssue]
    return embedder


def states(ids: NDArray[np.int64], value: float = 1) -> NDArray[np.float32]:
    return np.full((*ids.shape, SPEC.dimensions), value, dtype=np.float32)


def words(count: int) -> str:
    """Return a text with this number of tokens. This includes the two special tokens."""
    return " ".join(["word"] * (count - 2))


def test_vectors_match_the_reference_model(local: LocalEmbedder) -> None:
    """These similarities are from the model card. If you use another pooling or tokenizer, they will be
    different."""
    person, dog, sunny = local.embed_passages(
        ["That is a happy person", "That is a happy dog", "Today is a sunny day"]
    )
    assert person @ dog == pytest.approx(0.844, abs=0.03)
    assert person @ sunny == pytest.approx(0.654, abs=0.03)


def test_a_query_is_embedded_behind_its_prefix(local: LocalEmbedder) -> None:
    prefixed = local.embed_passages([SPEC.query_prefix + "what is a space?"])[0]
    assert local.embed_query("what is a space?").tobytes() == prefixed.tobytes()


def test_512_tokens_are_taken_and_513_are_not(local: LocalEmbedder) -> None:
    assert local.spans(words(512)) == [(0, len(words(512)))]
    assert local.embed_passages([words(512)]).shape == (1, 384)
    with pytest.raises(InvalidInput, match="512 tokens"):
        local.embed_passages([words(513)])
    assert len(local.spans(words(513))) == 2


def test_text_is_read_to_its_end(model_folder: Path, tmp_path: Path) -> None:
    """By default, the tokenizers truncate and pad to 128 tokens. kg does not use this."""
    given = json.loads((model_folder / TOKENIZER).read_text())
    given["truncation"] = {"direction": "Right", "max_length": 128, "strategy": "LongestFirst", "stride": 0}
    given["padding"] = {
        "strategy": {"Fixed": 128}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
    }  # fmt: skip
    (tmp_path / TOKENIZER).write_text(json.dumps(given))
    shutil.copy(model_folder / WEIGHTS, tmp_path)
    cutting, whole = LocalEmbedder(tmp_path, SPEC), LocalEmbedder(model_folder, SPEC)
    texts = ["short", words(200) + " and a quite different end"]
    assert cutting.embed_passages(texts).tobytes() == whole.embed_passages(texts).tobytes()


def test_thread_count_does_not_change_vectors(local: LocalEmbedder, model_folder: Path) -> None:
    texts = [f"text number {n} " * (n + 1) for n in range(12)]
    made = [local, *(LocalEmbedder(model_folder, SPEC, threads) for threads in (1, 3, None))]
    assert len({each.embed_passages(texts).tobytes() for each in made}) == 1


def test_a_query_does_not_wait_for_passages(model_folder: Path) -> None:
    busy, free = threading.Event(), threading.Event()

    def answer(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        if threading.current_thread().name.startswith("embed"):
            busy.set()
            assert free.wait(10)
        return states(ids)

    embedder = answering(model_folder, answer, threads=1)
    with ThreadPoolExecutor(1) as other:
        passages = other.submit(embedder.embed_passages, ["a", "b"])
        assert busy.wait(10)
        assert embedder.embed_query("now").shape == (384,)
        assert not passages.done()
        free.set()
        assert len(passages.result()) == 2


@pytest.mark.parametrize("value", [np.nan, np.inf, 0])
def test_unusable_vectors_are_an_error(model_folder: Path, value: float) -> None:
    with pytest.raises(EmbeddingFailed, match="zero or not finite"):
        answering(model_folder, lambda ids: states(ids, value)).embed_passages(["text"])


@pytest.mark.parametrize(("name", "complaint"), [(WEIGHTS, "ONNX"), (TOKENIZER, "tokenizer")])
@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_a_broken_file_is_named(
    model_folder: Path, tmp_path: Path, name: str, complaint: str, content: bytes | None
) -> None:
    shutil.copytree(model_folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigurationError, match=rf"{name} is not a.* {complaint}"):
        LocalEmbedder(tmp_path, SPEC)


BGE = "bge-small-en-v1.5"


@pytest.mark.parametrize("model", [*CATALOGUE, "nomic-embed-text-v1.5", "nomic-embed-text"])
def test_english_models_do_not_know_german(model: str) -> None:
    assert knows_language(model, "english")
    assert not knows_language(model, "german")


def test_note_counts_documents_and_names_the_model() -> None:
    (note,) = describe_unknown_languages(BGE, {"english": 33, "german": 14, "spanish": 8, "unknown": 1})
    assert note.startswith(f"22 of 56 documents are German or Spanish; {BGE} supports English.")
    assert "docs/operations/models.md" in note


@pytest.mark.parametrize(
    ("model", "documents"),
    [
        (BGE, {}),
        (BGE, {"english": 10, "unknown": 5}),
        (BGE, {"english": 97, "romanian": 3}),  # as often as English documents look like another language
        ("text-embedding-3-small", {"german": 10}),
        ("a model of somebody", {"german": 10}),
    ],
)
def test_supported_unknown_and_rare_languages_have_no_note(model: str, documents: dict[str, int]) -> None:
    assert describe_unknown_languages(model, documents) == []
