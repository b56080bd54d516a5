"""Calls to one endpoint: counted, paid from its budget, tried again where that may help, given up where it does not."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass
from itertools import count

from serving.budgets.day_budget import DayBudget
from serving.budgets.prices import Amount
from serving.common.clock import Clock, sleep
from serving.common.redaction import redact
from serving.common.retrying import Backoff, Persistence
from serving.common.untrusted import printable
from serving.common.wire_use import called
from serving.errors import Malformed, ModelError, Unavailable
from serving.remote.breaker import Breaker, BreakerRule
from serving.remote.endpoint.call_cost import CallCost, CallRate, expected
from serving.remote.endpoint.question import Manner, body, manners
from serving.remote.endpoint.reply import LARGEST_BYTES, Reply, read_names, read_reply
from serving.remote.endpoint.terms import VisionEndpoint
from serving.remote.http_client import HttpAnswer, HttpClient, HttpTerms, NotReached

log = logging.getLogger(__name__)


@dataclass
class EndpointSpending:
    """Those of one endpoint, since the process began."""

    calls: int = 0
    """Requests that were sent, also those that were tried again."""
    answered: int = 0
    """Looks with an answer."""
    unlisted: int = 0
    """Those whose answer was no word of the list: ``unknown``."""
    failed: int = 0
    """Looks without one, where calls have failed."""
    refused: int = 0
    """Looks that were not paid: a budget was spent, or the endpoint was left alone."""
    given_tokens: int = 0
    answered_tokens: int = 0
    cost: float = 0.0
    """In the unit of the budget."""
    seconds: float = 0.0
    """For which looks with an answer waited for it, all together."""

    def told(self, unit: str) -> str:
        """All of them in a line.

        >>> EndpointSpending(3, 2, 1, 1, 0, 800, 12, 0.0009, 0.9).told("EUR")
        '3 calls, 2 looks answered in 450 ms each (1 unlisted), 1 failed, 0 not paid; 800 + 12 tokens, 0.0009 EUR'
        """
        each_ms, cost = 1000 * self.seconds / max(1, self.answered), Amount(self.cost, unit)
        return (
            f"{self.calls} calls, {self.answered} looks answered in {each_ms:.0f} ms each ({self.unlisted} unlisted), "
            f"{self.failed} failed, {self.refused} not paid; {self.given_tokens} + {self.answered_tokens} tokens"
            + ("" if unit == "calls" else f", {cost}")
        )


PAUSES = Backoff(first_s=0.5, max_s=8.0)
"""Between attempts; an endpoint that asks for a longer one is left alone, and the call is given up."""
RESTS = BreakerRule(failures=5, returns=Backoff(first_s=5.0, max_s=300.0))
"""When an endpoint that fails is left alone."""
QUOTED = 200
"""Characters of an endpoint's own words that an error shows."""


class NotPaid(Unavailable):
    """No call was made: a budget is spent, or the endpoint is left alone."""


class CallGivenUp(Unavailable):
    """A call has failed in a way that another attempt does not mend."""


class EndpointCaller:
    """Used from one event loop."""

    def __init__(self, endpoint: VisionEndpoint, budget: DayBudget, clock: Clock, rng: random.Random) -> None:
        """``budget``: pays for every request."""
        self._endpoint, self._budget, self._clock, self._rng = endpoint, budget, clock, rng
        self.spending = EndpointSpending()
        calls = endpoint.calls
        self._client = HttpClient(endpoint.url.rstrip("/"), HttpTerms(calls.timeout_s, calls.in_flight, LARGEST_BYTES))
        self._headers = {} if endpoint.key is None else {"Authorization": f"Bearer {endpoint.key}"}
        usual = expected(endpoint.question, endpoint.detail)
        self._cost = CallCost(budget.terms.prices, endpoint.tokens, usual)
        self._rate = CallRate(calls.per_minute)
        self._breaker = Breaker(RESTS)
        self._persistence = Persistence(PAUSES, calls.attempts)
        self._manners = list(manners(endpoint.question.form))
        """Those that the server has not refused; the first one is used."""

    def check(self, background: bool) -> None:
        """Raise NotPaid where no call may be made now."""
        now_s = self._clock.monotonic_s()
        if not self._breaker.may_allow(now_s):
            left_s = self._breaker.left_s(now_s)
            raise NotPaid(f"it is left alone {f'for {left_s:.0f} s' if left_s > 0 else 'until a call has ended'}")
        if (why := self._rate.refusal(now_s, background)) is not None:
            raise NotPaid(why)
        if (estimate := self._cost.estimate(0)) > self._budget.left:
            raise NotPaid(self._budget.refusal(self._endpoint.model, estimate))

    async def names(self) -> list[str] | None:
        """The models that the endpoint lists, if any; Unavailable where it does not answer, ModelError for the key."""
        answer = await self._client.request("GET", "/models", None, self._headers)
        if answer.meaning == "no key":
            raise ModelError(f"the server answers {answer.status}: give the right key")
        return read_names(answer.body) if answer.meaning == "answered" else None

    async def ask(self, picture: str, background: bool) -> Reply:
        """The answer to the question about a picture, a data URL, after some attempts; each of them is a call.

        Raises Unavailable; NotPaid where not one call was made.
        """
        for failures in count(1):
            asked_s = 0.0
            try:
                answer, reply = await self._call(picture, background)
                if reply is not None:
                    return reply
                problem, asked_s = _said(answer), answer.retry_after_s
            except (NotPaid, CallGivenUp):
                raise
            except Unavailable as error:
                problem = str(error)
            delay_s = self._persistence.delay_s(failures, 0.0, self._rng)
            if asked_s > PAUSES.max_s:
                self._breaker.rests(self._clock.monotonic_s(), asked_s)
            if delay_s is None or asked_s > PAUSES.max_s:
                raise CallGivenUp(problem)
            await sleep(self._clock, max(delay_s, asked_s))
        raise AssertionError("counting has no end")

    async def close(self) -> None:
        await self._client.close()

    async def _call(self, picture: str, background: bool) -> tuple[HttpAnswer, Reply | None]:
        """The answer to a request in the form that the server takes, read where there is one."""
        while True:
            self.check(background)
            manner = self._manners[0]
            request = body(self._endpoint.model, self._endpoint.question, picture, manner)
            answer, reply = await self._paid(request, manner)
            if not self._may_be_told_else(answer, manner):
                break
            if manner == self._manners[0]:  # else a call beside this one has found out
                del self._manners[0]
                log.info("%s: the server answers %d: asked in another form", self._endpoint.name, answer.status)
        if reply is None and answer.meaning not in ("busy", "failed"):
            raise CallGivenUp(_said(answer))
        return answer, reply

    async def _paid(self, request: bytes, manner: Manner) -> tuple[HttpAnswer, Reply | None]:
        """Make one request, and pay for it, also where it was sent and has no answer: it may have been charged."""
        name, estimate = self._endpoint.name, self._cost.estimate(len(request))
        if not self._budget.reserve(name, estimate):
            raise NotPaid(self._budget.refusal(self._endpoint.model, estimate))
        paid = estimate
        try:
            answer, reply = await self._heard(request, manner)
            paid = 0.0 if reply is None else self._counted(reply, len(request) + len(answer.body))
            return answer, reply
        except (NotPaid, NotReached):
            paid = 0.0
            raise
        finally:
            self._budget.pay(name, self._endpoint.model, estimate, paid)
            self.spending.cost += paid

    async def _heard(self, request: bytes, manner: Manner) -> tuple[HttpAnswer, Reply | None]:
        """Make one request, and have the breaker hear how it went."""
        if not self._breaker.allows(self._clock.monotonic_s()):
            raise NotPaid("it is left alone until a call has ended")
        self._rate.begin()
        self.spending.calls += 1
        end = self._breaker.left
        try:
            answer = await self._client.request("POST", "/chat/completions", request, self._headers)
            called(len(request), len(answer.body))
            reply = read_reply(answer.body) if answer.meaning == "answered" else None
            if reply is not None:
                end = self._breaker.succeeded
            elif answer.meaning != "busy" and not self._may_be_told_else(answer, manner):
                end = self._failed
            return answer, reply
        except Malformed as error:
            end = self._failed
            raise CallGivenUp(f"the answer cannot be read: {error}; {_said(answer)}") from None
        except Unavailable:
            end = self._failed
            raise
        finally:
            end()

    def _failed(self) -> None:
        self._breaker.failed(self._clock.monotonic_s(), self._rng)

    def _may_be_told_else(self, answer: HttpAnswer, manner: Manner) -> bool:
        """Whether a request that was refused may be made in another form, also where a call beside it has found it."""
        return answer.meaning == "wrong" and manner != self._manners[-1]

    def _counted(self, reply: Reply, wire_bytes: int) -> float:
        """Count the tokens of an answer; returns the cost of its call."""
        usage = reply.usage or self._cost.expected
        self.spending.given_tokens += usage.prompt_tokens
        self.spending.answered_tokens += usage.completion_tokens
        return self._cost.of(usage, wire_bytes)


def _said(answer: HttpAnswer) -> str:
    """The answer in place of a completion, in a line; it may repeat what the endpoint was sent."""
    if 300 <= answer.status < 400:
        return f"the server answers {answer.status}: redirects are not followed"
    words = printable(redact(answer.body[: 4 * QUOTED].decode("utf-8", "replace")).strip(), QUOTED)
    return f"the server answers {answer.status}: {words}" if words else f"the server answers {answer.status}"
