"""What a space's model costs, and takes at once."""

from __future__ import annotations

from urllib.parse import urlsplit

from kg_api.embed.known import IN_PROCESS, price_of
from kg_api.graph.spaces.registry import Space
from kg_api.settings import Settings
from kg_api.spaces.registry import choice_of
from kg_api.wording.hosts import is_loopback

MAX_IMAGE_BATCH = 16
"""Pictures that are unpacked at once, whatever the batch of texts: one for a remote model may have 3 MB."""


def price_of_space(settings: Settings, space: Space) -> float | None:
    """US dollars for a million tokens; None: not known, as of pictures elsewhere."""
    if space.is_of_images:
        return 0.0 if space.identity.provider in IN_PROCESS else None
    return price_of(choice_of(space), settings)


def batch_size_of_space(settings: Settings, space: Space) -> int:
    """Texts or pictures that go to the model at once."""
    batch = settings.worker.sources_a_batch
    if space.is_of_images:
        return min(batch, MAX_IMAGE_BATCH)
    sizes = {"openai": settings.openai.batch_size, "nomic": settings.nomic.batch_size}
    return sizes.get(space.identity.provider, batch)


def is_paid(settings: Settings, space: Space) -> bool:
    """Whether embedding most likely costs money: elsewhere, or by a model that has a price.

    What answers at an address of loopback may be a proxy of something paid, or run here, as Ollama does.
    """
    served = {"openai": settings.openai, "nomic": settings.nomic, "cohere": settings.cohere}
    provider = space.identity.provider
    if provider in IN_PROCESS:
        return False
    address = served[provider].base_url if provider in served else ""
    return not is_loopback(urlsplit(address).hostname or "") or bool(price_of_space(settings, space))
