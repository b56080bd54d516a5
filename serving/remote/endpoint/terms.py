"""A vision model behind an endpoint: where it is, what it is asked, what may be spent, its card here. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from serving.catalogue.cards import ImageInput, ModelCard

UNKNOWN = "unknown"
"""The answer to everything that is none of the labels."""
NO_FILE = "elsewhere.onnx"
"""The card's file: there is none here."""
ENDPOINT = "endpoint"
"""Stands in the place of a backend in the engine's names."""
ON_ENDPOINT = f" on {ENDPOINT}"
"""The end of the engine's names: ``qwen2.5-vl-3b-1f2e3d on endpoint``."""


def is_endpoint(model: str) -> bool:
    """Whether this is the engine's name for a vision model behind an endpoint."""
    return model.endswith(ON_ENDPOINT)


AnswerForm = Literal["auto", "schema", "choice", "text"]
"""How the server is told to answer: by a JSON schema, by vLLM's choice of words, or in the prompt alone; ``auto``: by a
schema, or in the prompt where the server refuses that."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose answer is one of the labels."""

    text: str
    """As it is asked."""
    labels: tuple[str, ...]
    """1 or more, all different; ``unknown`` is none of them."""
    form: AnswerForm = "auto"


@dataclass(frozen=True, slots=True)
class CallTerms:
    per_minute: int | None = None
    """None: not bounded."""
    in_flight: int = 4
    timeout_s: float = 30.0
    """For one attempt."""
    attempts: int = 3


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """The prices of a million tokens, in the unit of the budget."""

    given: float = 0.0
    answered: float = 0.0


@dataclass(frozen=True, slots=True)
class VisionEndpoint:
    """One model behind one endpoint, with one question. The key does not show in a ``repr``."""

    url: str
    """The address before ``/chat/completions``."""
    model: str
    """As the server calls it."""
    question: Question
    calls: CallTerms = CallTerms()
    tokens: TokenPrices = TokenPrices()
    key: str | None = field(default=None, repr=False)
    detail: int = 336
    """The longer side of pictures, pixels."""
    margin: float = 0.1
    confidence: float = 0.9
    """The certainty of answers whose probability the server does not tell."""

    @property
    def host(self) -> str:
        """The server's name, and port where it is given."""
        return urlsplit(self.url).netloc

    @property
    def sha256(self) -> str:
        """Digest of all that decides the answers: another question makes another network. 64 hexadecimal digits."""
        said = [self.url, self.model, self.question.text, list(self.question.labels)]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    @property
    def name(self) -> str:
        """The engine's name for it: ``qwen2.5-vl-3b-1f2e3d on endpoint``."""
        return f"{self._slug}-{self.sha256[:6]}{ON_ENDPOINT}"

    @property
    def _slug(self) -> str:
        return re.sub(r"[^a-z0-9._-]+", "-", self.model.lower()).strip("-._")[:60] or "model"

    def card(self) -> ModelCard:
        """The model's card: a classifier of pictures as they are."""
        return ModelCard(
            name=self._slug,
            version=self.sha256[:12],
            task="classify",
            file=NO_FILE,
            sha256=self.sha256,
            licence="the endpoint's",
            source=self.url,
            description=self.question.text[:200],
            input=ImageInput(
                width=self.detail,
                height=self.detail,
                colour="bgr",
                resize="letterbox",
                layout="nhwc",
                dtype="uint8",
                margin=self.margin,
            ),
            classes=(*self.question.labels, UNKNOWN),
            other_label=UNKNOWN,
            scores="probabilities",
        )
