"""OpenAI's SDK and httpx used for the first time by two threads at once, in a process of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys, threading, time
import kg_api.providers.embedding_port, kg_api.providers.tokens
import kg_api.providers.embedding_port, kg_api.providers.chat
import openai.resources.chat, openai.resources.embeddings  # so that nothing but the use is left to do
from importlib.machinery import SourceFileLoader
from pydantic import SecretStr
from kg_api.providers.embedding_port import remote_model
from kg_api.errors import LlmUnavailable
from kg_api.providers.chat import Prompt
from kg_api.schemas.spaces import ModelChoice
from kg_api.providers.retrying import RetryableError, RetryPolicy
from kg_api.sections import LlmSettings, NomicSettings, OpenAISettings
from kg_api.settings import load_settings

half, used = threading.Event(), threading.Event()

usual = SourceFileLoader.exec_module

def waits_for_an_import():
    "Whether the main thread stands where one waits for another's import."
    code = sys._current_frames()[threading.main_thread().ident].f_code
    return code.co_name == "acquire" and "importlib" in code.co_filename

def slow(loader, module):
    "Holds the import of httpx in the middle, as a loaded machine does, for as long as it can do harm."
    if module.__name__ == "httpx._models":
        half.set()
        until = time.monotonic() + 3
        while not used.wait(0.1) and not waits_for_an_import() and time.monotonic() < until:
            pass
    usual(loader, module)

SourceFileLoader.exec_module = slow
openais = OpenAISettings(base_url="http://127.0.0.1:1/v1", api_key=SecretStr("sk-a"))
settings = load_settings(openai=openais, llm=LlmSettings(model="small"))

def nomic():
    import httpx

thread = threading.Thread(target=nomic)
thread.start()
assert half.wait(30)
try:
    if sys.argv[1] == "embedding":
        from kg_api.providers.openai_embedding import OpenAIEndpoint
        endpoint = OpenAIEndpoint(openais, remote_model(ModelChoice("openai"), settings))
        endpoint.ask(["a"], query=True, seconds=5)
    else:
        from kg_api.providers.openai_chat import open_chat
        open_chat(settings, RetryPolicy(tries=1)).ask(Prompt("a", "b", "c", {}))
except (RetryableError, LlmUnavailable):  # nobody listens there
    print("asked")
finally:
    used.set()
    thread.join()
"""


@pytest.mark.parametrize("what", ["embedding", "llm"])
def test_a_model_of_openai_is_asked_while_another_thread_imports_httpx(what: str) -> None:
    """The SDK takes httpx out of sys.modules, where it may be half imported: an AttributeError."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, what], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "asked\n", done.stderr
