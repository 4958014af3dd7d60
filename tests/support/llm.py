import json
import random
from typing import Any

from pydantic import SecretStr

from kg_api.providers.openai_chat import Chat
from kg_api.providers.retrying import RetryPolicy
from kg_api.sections import LlmSettings, OpenAISettings
from kg_api.settings import Settings, load_settings
from tests.support.embedding_server import EmbeddingServer, Request
from tests.support.providers import CANARY, QUICK


def llm_settings(server: EmbeddingServer, **own: Any) -> Settings:
    given: dict[str, Any] = {"model": "small-writer", "timeout_seconds": 10, **own}
    openai = OpenAISettings(base_url=server.openai_url, api_key=SecretStr(CANARY))
    return load_settings(openai=openai, llm=LlmSettings(**given))


def open_quick(server: EmbeddingServer, **own: Any) -> Chat:
    return Chat(llm_settings(server, **own), RetryPolicy(first_wait=QUICK))


def asked(request: Request | dict[str, Any]) -> dict[str, Any]:
    body = request.body if isinstance(request, Request) else request
    return json.loads(body["messages"][-1]["content"])


def context_of(text: str) -> str:
    return f"Context of {' '.join(text.split())[:40]}."


def write_contexts(body: dict[str, Any]) -> str:
    items = [{"id": each["id"], "context": context_of(each["text"])} for each in asked(body)["passages"]]
    random.Random(7).shuffle(items)
    return json.dumps({"contexts": items})


def quoting(body: dict[str, Any]) -> str:
    """Answer with the sentences that have a five-letter word from the question, to use with
    `EmbeddingServer.chat`."""
    data = asked(body)
    if "passages" not in data or isinstance(data["passages"], int):
        return json.dumps({"passages": [{"text": f"{data['question']} Certainly."}]})
    wanted = {word.casefold().strip("?.,") for word in data["question"].split() if len(word) > 4}
    found = [
        {"text": f"It says: {sentence}", "quotes": [{"id": each["id"], "quote": sentence}]}
        for each in data["passages"]
        for sentence in sentences(each["text"])
        if wanted & {word.casefold().strip("?.,") for word in sentence.split()}
    ]
    return json.dumps({"statements": found})


def sentences(text: str) -> list[str]:
    lines = " ".join(line for line in text.splitlines() if not line.startswith("#"))
    return [f"{each.strip()}." for each in lines.split(".") if each.strip()]
