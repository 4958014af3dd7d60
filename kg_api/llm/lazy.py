"""The language model of the settings, opened when it is first needed: most requests never need it."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING

from kg_api.llm.missing import no_model
from kg_api.llm.money import Reply
from kg_api.llm.prompts import Prompt
from kg_api.provider.retrying import RetryPolicy
from kg_api.settings import Settings

if TYPE_CHECKING:
    from kg_api.llm.chat import Chat


class LanguageModel:
    """What answers questions while somebody waits. Thread-safe."""

    def __init__(self, settings: Settings | None, policy: RetryPolicy | None = None) -> None:
        """Nothing is opened yet.

        Args:
            settings: unset: there is no language model.
            policy: when to ask again; by default once more.
        """
        self._settings = settings
        self._policy = policy or RetryPolicy(tries=2)
        self._opening = threading.Lock()
        self._chat: Chat | None = None

    @property
    def name(self) -> str:
        """The model's.

        Raises:
            ConfigurationError: there is none, naming the variable that is missing.
        """
        return self._open().model

    def ask(self, question: Prompt) -> str:
        """See `Chat.ask`.

        Raises:
            ConfigurationError: there is no language model, too.
        """
        return self._open().ask(question)

    def ask_counted(self, question: Prompt) -> Reply:
        """See `Chat.ask_counted`.

        Raises:
            ConfigurationError: there is no language model, too.
        """
        return self._open().ask_counted(question)

    def stream(self, question: Prompt) -> Generator[str]:
        """See `Chat.stream`.

        Raises:
            ConfigurationError: there is no language model, too.
        """
        with closing(self._open().stream(question)) as pieces:
            yield from pieces

    def close(self) -> None:
        with self._opening:
            if self._chat is not None:
                self._chat.close()

    def _open(self) -> Chat:
        with self._opening:
            if self._chat is None:
                if self._settings is None or self._settings.llm.model is None:
                    raise no_model()
                from kg_api.llm.chat import open_chat  # noqa: PLC0415 - the SDK is an extra, and slow to import

                self._chat = open_chat(self._settings, self._policy)
            return self._chat
