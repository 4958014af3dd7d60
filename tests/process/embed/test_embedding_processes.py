import subprocess
import sys
import textwrap

import pytest

from kg_api.providers.model_files import ensure_model
from kg_api.settings import load_settings

OPEN = """
from kg_api.providers.embedding import open_embedder
from kg_api.settings import load_settings
embedder = open_embedder(load_settings())
"""


@pytest.fixture(scope="module", autouse=True)
def _model_is_there() -> None:
    ensure_model(load_settings())


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(code: str, *arguments: str) -> str:
    with start(code, *arguments) as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out


def test_only_packages_of_the_provider_are_imported() -> None:
    code = """
    import os, sys
    os.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    os.environ["NOMIC_API_KEY"] = "nk-1"
    from kg_api.providers.embedding import open_embedder
    from kg_api.schemas.spaces import ModelChoice
    from kg_api.settings import load_settings
    def imported():
        return sorted({"openai", "bpe_openai", "onnxruntime", "nomic", "cohere"} & set(sys.modules))
    open_embedder(load_settings(), ModelChoice("deterministic")).close()
    print(imported())
    open_embedder(load_settings(), ModelChoice("nomic")).close()
    print(imported())
    open_embedder(load_settings(), ModelChoice("openai")).close()
    print(imported())
    """
    nothing, nomic, openai = run(code).splitlines()
    assert nothing == "[]"
    assert nomic == "[]"
    assert openai == "['bpe_openai']"


@pytest.mark.parametrize(
    ("batches", "size"),
    [pytest.param(4, 12, id="few"), pytest.param(6, 40, id="many", marks=pytest.mark.full)],
)
def test_memory_stays_flat_over_texts_of_all_lengths(batches: int, size: int) -> None:
    code = (
        OPEN
        + """
import random, sys, psutil
batches, size = map(int, sys.argv[1:])
dice, me = random.Random(1), psutil.Process()
def batch():
    return [" ".join(dice.choices(["one", "two"], k=dice.choice([3, 30, 120, 500]))) for _ in range(size)]
embedder.embed_passages(["word " * 500] * 2)
for _ in range(2):
    embedder.embed_passages(batch())
before = me.memory_info().rss
for _ in range(batches):
    embedder.embed_passages(batch())
print((me.memory_info().rss - before) // 2**20)
"""
    )
    assert int(run(code, str(batches), str(size))) < 32
