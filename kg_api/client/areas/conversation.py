"""Storing conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.client.call import Call, drop_unset, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.library.conversations import Conversation, Message
from kg_api.models.library.documents import Ingested, MetadataValue

Messages = Sequence[Message | dict[str, Any]]
"""Each with author, text and, if known, timestamp (ISO 8601 with a zone)."""


def plain_messages(messages: Messages) -> list[dict[str, Any]]:
    """Messages as they are sent."""
    return [
        each.model_dump(mode="json", exclude_unset=True) if isinstance(each, Message) else each
        for each in messages
    ]


def ingest_conversation(messages: Messages, **about: Any) -> Call[Ingested]:
    """Store messages as one document; `about` are the fields of Conversation, None for unset."""
    asked = {"messages": plain_messages(messages), **drop_unset(about)}
    body = valid(Conversation, asked).model_dump(mode="json", exclude_unset=True)
    return Call("POST", "/documents/conversation", Ingested, json=body)


class ConversationMethods(Sending):
    """Methods of the synchronous client."""

    def ingest_conversation(
        self,
        messages: Messages,
        *,
        ontology: str,
        title: str,
        metadata: dict[str, MetadataValue] | None = None,
    ) -> Ingested:
        """Store messages as one Markdown document; the same title again replaces it.

        With more messages than before only the new ones are embedded.
        """
        return self._send(ingest_conversation(messages, ontology=ontology, title=title, metadata=metadata))


class AsyncConversationMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def ingest_conversation(
        self,
        messages: Messages,
        *,
        ontology: str,
        title: str,
        metadata: dict[str, MetadataValue] | None = None,
    ) -> Ingested:
        """Store messages as one Markdown document; the same title again replaces it.

        With more messages than before only the new ones are embedded.
        """
        call = ingest_conversation(messages, ontology=ontology, title=title, metadata=metadata)
        return await self._send(call)
