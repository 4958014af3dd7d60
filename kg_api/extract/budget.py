"""The money that extraction may cost an ontology, and what it has cost."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping

from kg_api.errors import BudgetSpent, ConfigurationError
from kg_api.graph.cache import write_contexts
from kg_api.graph.concepts.extraction_config import add_spent, read_spent
from kg_api.graph.database import Graph, Transaction
from kg_api.llm.missing import RESTART
from kg_api.llm.money import Reply, price_of, tokens_of
from kg_api.llm.prompts import Prompt
from kg_api.sections import LlmSettings


class LlmBudget:
    """Pays for questions, as long as there is money. Thread-safe; for one ontology.

    What has been paid is written in the transaction that keeps the answer, so it is neither lost nor paid
    twice when a worker is killed.
    """

    def __init__(
        self,
        graph: Graph,
        ontology: str,
        settings: LlmSettings,
        budget: float | None,
        job_id: str | None = None,
    ) -> None:
        """Nothing is asked yet; the job says what it spends, where one is named.

        Raises:
            ConfigurationError: there is a budget, and the model's price is not known.
        """
        if budget is not None and price_of(settings, 0, 0) is None:
            raise ConfigurationError(
                f"extraction from {ontology!r} has a budget, and the language model's price is not known; "
                f"set KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT, {RESTART}"
            )
        self._graph = graph
        self._ontology = ontology
        self._settings = settings
        self._budget = budget
        self._job_id = job_id
        self._settled = threading.Condition()
        self._reserved: list[float] = []

    def reserve(self, question: Prompt, answer_tokens: int) -> float:
        """Set aside what a question may cost, in US dollars; to be given back by `release`.

        Waits for questions under way whose cost is not known yet, if there is not enough beside them.

        Args:
            question: what is asked.
            answer_tokens: how much will be written, as is thought.

        Raises:
            BudgetSpent: there is not so much left.
        """
        if self._budget is None:
            return 0.0
        read = tokens_of(question.instruction) + tokens_of(question.data)
        cost = price_of(self._settings, read, answer_tokens) or 0.0
        with self._settled:
            while (spent := self._read_spent()) + sum(self._reserved) + cost > self._budget:
                if not self._reserved:
                    raise BudgetSpent(self._describe_spending(spent, cost))
                self._settled.wait()
            self._reserved.append(cost)
        return cost

    def release(self, reserved: float) -> None:
        """Give back what was set aside."""
        with self._settled:
            if reserved in self._reserved:
                self._reserved.remove(reserved)
            self._settled.notify_all()

    def keep(self, answers: Mapping[str, str], question: Prompt, reply: Reply) -> None:
        """Keep answers and what they cost, in one transaction."""
        receipt, cost = uuid.uuid4().hex, self._cost(question, reply)

        def write(tx: Transaction) -> None:
            add_spent(tx, self._ontology, cost, receipt, self._job_id)
            write_contexts(tx, answers)

        self._graph.transaction(write)

    def _cost(self, question: Prompt, reply: Reply) -> float:
        guessed = tokens_of(question.instruction) + tokens_of(question.data)
        read = guessed if reply.read is None else reply.read
        written = tokens_of(reply.text) if reply.written is None else reply.written
        return price_of(self._settings, read, written) or 0.0

    def _read_spent(self) -> float:
        return read_spent(self._graph, self._ontology)

    def _describe_spending(self, spent: float, cost: float) -> str:
        return (
            f"the budget for extracting concepts from {self._ontology!r} is used up: of ${self._budget:g}, "
            f"${spent:.4g} are spent, and the next request may cost ${cost:.2g}; raise it by "
            f"`kg admin concepts config --ontology {self._ontology!r} --budget DOLLARS`, and it goes on"
        )
