"""A vision model behind an OpenAI-compatible endpoint, as the model of a recognise node: its keys and their bounds.

Pictures of objects leave this machine only where the query says so in words.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, model_validator

from pipelines.query.budgets import BackendBudget, BackendPrice, WrittenAmount, amounts
from pipelines.query.secret_places import Placeholder, read_secret
from serving.common.explain import Strict
from serving.remote.endpoint.terms import (
    ON_ENDPOINT,
    UNKNOWN,
    AnswerForm,
    CallTerms,
    Question,
    TokenPrices,
    VisionEndpoint,
)
from serving.remote.peers import is_loopback

if TYPE_CHECKING:
    from serving.budgets.prices import Prices
    from serving.budgets.terms import BudgetTerms

MOST_LABELS = 100
YES, YES_UNENCRYPTED = "yes, to this address", "yes, unencrypted, to this address"


def _split(address: str) -> SplitResult | None:
    """The parts of an address; None for one that is none."""
    try:
        found = urlsplit(address)
        _ = found.port
    except ValueError:
        return None
    return found if found.scheme in ("http", "https") and found.hostname else None


def _address(value: str) -> str:
    found = _split(value)
    if found is None or found.query or found.fragment or not value.isascii() or not value.isprintable():
        raise ValueError("should be an address such as https://HOST/v1, to which /chat/completions is added")
    if found.username is not None or found.password is not None:
        raise ValueError("has a user or password: give a key in its place")
    return value.rstrip("/")


def _labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    seen = set[str]()
    for label in labels:
        if label != label.strip() or not label.isprintable():
            raise ValueError(f"{label!r} has white space around it, or characters without a glyph")
        if label.casefold() == UNKNOWN:
            raise ValueError(f"{UNKNOWN!r} is what everything else is called: leave it out")
        if label.casefold() in seen:
            raise ValueError(f"{label!r} is there twice")
        seen.add(label.casefold())
    return labels


class EndpointPrice(BackendPrice):
    """The cost of asking an endpoint."""

    per_million_given: WrittenAmount | None = None
    """The price of a million tokens of pictures and questions."""
    per_million_answered: WrittenAmount | None = None
    """The price of a million tokens of answers."""


class EndpointBudget(BackendBudget):
    """The most that may be spent at an endpoint in a day."""

    price: EndpointPrice = EndpointPrice.model_construct()
    """The cost of calls, in the unit of ``per_day``; bytes and calls need no price."""

    @property
    def prices(self) -> Prices:
        from serving.budgets.prices import Prices

        found = {key: value.value for key, value in amounts(self.price).items() if key in BackendPrice.model_fields}
        return Prices(self.amount.unit, **found)

    @property
    def tokens(self) -> TokenPrices:
        found = {key.removeprefix("per_million_"): value.value for key, value in amounts(self.price).items()}
        return TokenPrices(found.get("given", 0.0), found.get("answered", 0.0))


Label = Annotated[str, Field(min_length=1, max_length=64)]


class EndpointSpec(Strict):
    """A vision model that another server runs, and the question that it is asked about each object."""

    endpoint: Annotated[str, Field(max_length=500), AfterValidator(_address)]
    """Its address, to which ``/chat/completions`` is added: ``https://vlm.example.com/v1``."""
    name: str = Field(min_length=1, max_length=200)
    """The model, as the server calls it."""
    labels: Annotated[tuple[Label, ...], Field(min_length=1, max_length=MOST_LABELS), AfterValidator(_labels)]
    """The answers; everything else is ``unknown``."""
    ask: str = Field(default="Which of these does the picture show: {labels}?", min_length=1, max_length=2000)
    """The question; ``{labels}`` stands for the labels."""
    key: Placeholder | None = None
    """The secret that is shown to the server: ``${NAME}`` of the environment or ``${file:PATH}``."""
    send_pictures: Literal["yes, to this address", "yes, unencrypted, to this address"] | None = None
    """Lets pictures of objects leave this machine; not needed for an endpoint on it."""
    budget: EndpointBudget
    """The most that it may cost in a day."""
    calls_per_minute: int | None = Field(default=None, ge=1, le=100_000)
    """The most calls that a process makes in a minute; work in the background leaves half of them to frames."""
    answers: AnswerForm = "auto"
    """How the server is bound to the labels: ``schema``, ``choice`` (vLLM's), or ``text``, by the prompt alone."""
    confidence: float = Field(default=0.9, ge=0.05, le=1)
    """The certainty of answers whose probability the server does not tell."""
    detail: int = Field(default=336, ge=64, le=1024)
    """The longer side of the pictures that are sent, pixels."""
    timeout_ms: float = Field(default=30_000.0, ge=100, le=600_000)
    """The longest that one attempt may take; an answer that comes after its frame is the object's later."""
    in_flight: int = Field(default=4, ge=1, le=64)
    """The most calls that are under way at once."""

    @model_validator(mode="after")
    def _allowed(self) -> EndpointSpec:
        found = urlsplit(self.endpoint)
        host, needed = found.hostname or "", YES if found.scheme == "https" else YES_UNENCRYPTED
        if not is_loopback(host) and self.send_pictures not in (needed, YES_UNENCRYPTED):
            said = "" if found.scheme == "https" else ", unencrypted"
            raise ValueError(
                f"pictures of objects would leave this machine for {host}{said}: where that is allowed, say "
                f"send_pictures: {needed!r}"
            )
        return self

    @cached_property
    def engine_name(self) -> str:
        """The engine's name for it."""
        return self.terms(None).name

    def opened(self, where: str) -> VisionEndpoint:
        """The endpoint with its key; raises BadInput where that is not to be had. ``where``: names the node."""
        return self.terms(None if self.key is None else read_secret(self.key, Path(), f"{where}.key"))

    def terms(self, key: str | None) -> VisionEndpoint:
        """The endpoint, to be called with this key."""
        calls = CallTerms(self.calls_per_minute, self.in_flight, self.timeout_ms / 1000)
        question = Question(self.ask.replace("{labels}", ", ".join(self.labels)), self.labels, self.answers)
        return VisionEndpoint(
            self.endpoint, self.name, question, calls, self.budget.tokens, key, self.detail, confidence=self.confidence
        )

    def budget_terms(self) -> BudgetTerms:
        """Its budget, which all nodes that ask it the same share."""
        return self.budget.terms(f"endpoint {self.engine_name.removesuffix(ON_ENDPOINT)}", self.budget.prices)
