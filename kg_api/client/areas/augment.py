"""Finding the passages that go with a text or a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.client.areas.conversation import Messages, plain_messages
from kg_api.client.call import Call, drop_unset, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.queries.augment import Augmented, AugmentRequest


def augment(
    text: str | None, messages: Messages | None, ontology: str | Sequence[str] | None, **options: Any
) -> Call[Augmented]:
    """Find passages; `options` are the further fields of AugmentRequest."""
    names = ontology if ontology is None or isinstance(ontology, str) else list(ontology)
    sent = plain_messages(messages) if messages is not None else None
    asked = {**drop_unset({"text": text, "messages": sent, "ontology": names}), **options}
    body = valid(AugmentRequest, asked).model_dump(mode="json", exclude_unset=True)
    return Call("POST", "/queries/augment", Augmented, json=body)


class AugmentMethods(Sending):
    """Methods of the synchronous client."""

    def augment(
        self,
        text: str | None = None,
        *,
        messages: Messages | None = None,
        ontology: str | Sequence[str] | None = None,
        **options: Any,
    ) -> Augmented:
        """Find the passages that go with a text or a conversation, as records and as a context block.

        `options` are the further fields of AugmentRequest.
        """
        return self._send(augment(text, messages, ontology, **options))


class AsyncAugmentMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def augment(
        self,
        text: str | None = None,
        *,
        messages: Messages | None = None,
        ontology: str | Sequence[str] | None = None,
        **options: Any,
    ) -> Augmented:
        """Find the passages that go with a text or a conversation, as records and as a context block.

        `options` are the further fields of AugmentRequest.
        """
        return await self._send(augment(text, messages, ontology, **options))
