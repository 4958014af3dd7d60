"""What to do where no language model is configured, all steps at once."""

from __future__ import annotations

from kg_api.errors import ProviderMissing

RESTART = "then `kg down` and `kg up`"


def no_model() -> ProviderMissing:
    return ProviderMissing(
        "KG_LLM__MODEL is not set; set it to the name of a language model in the environment of the service "
        "and its workers, with OPENAI_API_KEY, or with KG_LLM__BASE_URL for another server; install the "
        "extra openai if it is missing (in kg's checkout: .venv/bin/python -m pip install '.[openai]'); "
        f"{RESTART}"
    )
