"""Calls to one endpoint: paid from its budget, tried again where that may help, given up where it does not."""

from __future__ import annotations

import logging
import random
from itertools import count

from serving.budgets.day_budget import DayBudget
from serving.common.clock import Clock, sleep
from serving.common.redaction import redact
from serving.common.retrying import Backoff, Persistence
from serving.common.untrusted import printable
from serving.errors import Malformed, ModelError, Unavailable
from serving.remote.endpoint.breaker import CallBreaker
from serving.remote.endpoint.call_cost import CallCost, expected
from serving.remote.endpoint.call_rate import CallRate
from serving.remote.endpoint.connection import EndpointAnswer, EndpointConnection, NotReached
from serving.remote.endpoint.question import body, manners
from serving.remote.endpoint.reply import Reply, read_names, read_reply
from serving.remote.endpoint.spending import EndpointSpending
from serving.remote.endpoint.terms import VisionEndpoint

log = logging.getLogger(__name__)

PAUSES = Backoff(first_s=0.5, max_s=8.0)
"""Between attempts; an endpoint that asks for a longer one is left alone, and the call is given up."""
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
        self._connection = EndpointConnection(endpoint.url, endpoint.key, calls.timeout_s, calls.in_flight)
        usual = expected(endpoint.question, endpoint.detail)
        self._cost = CallCost(budget.terms.prices, endpoint.tokens, usual)
        self._rate = CallRate(calls.per_minute)
        self._breaker = CallBreaker(rng)
        self._persistence = Persistence(PAUSES, calls.attempts)
        self._manners = list(manners(endpoint.question.form))
        """Those that the server has not refused; the first one is used."""

    def check(self, background: bool) -> None:
        """Raise NotPaid where no call may be made now."""
        now_s = self._clock.monotonic_s()
        left_s = self._breaker.left_s(now_s)
        why = f"it is left alone for {left_s:.0f} s" if left_s else None
        why = why or self._rate.refusal(now_s, background)
        if why is not None:
            raise NotPaid(why)
        if (estimate := self._cost.estimate(0)) > self._budget.left:
            raise NotPaid(self._budget.refusal(self._endpoint.model, estimate))

    async def names(self) -> list[str] | None:
        """The models that the endpoint lists, if any; Unavailable where it does not answer, ModelError for the key."""
        answer = await self._connection.request("GET", "/models")
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
                self._breaker.asked(self._clock.monotonic_s(), asked_s)
            if delay_s is None or asked_s > PAUSES.max_s:
                raise CallGivenUp(problem)
            await sleep(self._clock, max(delay_s, asked_s))
        raise AssertionError("counting has no end")

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    async def _call(self, picture: str, background: bool) -> tuple[EndpointAnswer, Reply | None]:
        """The answer to a request in the form that the server takes, read where there is one."""
        while True:
            self.check(background)
            manner = self._manners[0]
            request = body(self._endpoint.model, self._endpoint.question, picture, manner)
            answer, reply = await self._paid(request)
            if answer.meaning != "wrong" or len(self._manners) == 1:
                break
            if manner == self._manners[0]:  # else a call beside this one has found out
                del self._manners[0]
                log.info("%s: the server answers %d: asked in another form", self._endpoint.name, answer.status)
        if reply is None and answer.meaning not in ("busy", "failed"):
            self._breaker.failed(self._clock.monotonic_s())
            raise CallGivenUp(_said(answer))
        return answer, reply

    async def _paid(self, request: bytes) -> tuple[EndpointAnswer, Reply | None]:
        """Make one request; the breaker hears how it went, the budget what it cost.

        A request that was sent and has no answer may have been charged: so it is paid.
        """
        name, estimate = self._endpoint.name, self._cost.estimate(len(request))
        if not self._budget.reserve(name, estimate):
            raise NotPaid(self._budget.refusal(self._endpoint.model, estimate))
        self._breaker.begin(self._clock.monotonic_s())
        self._rate.begin()
        self.spending.calls += 1
        paid = estimate
        try:
            answer = await self._connection.request("POST", "/chat/completions", request)
            reply = read_reply(answer.body) if answer.meaning == "answered" else None
            paid = 0.0 if reply is None else self._counted(reply, len(request) + len(answer.body))
        except NotReached:
            paid = 0.0
            self._breaker.failed(self._clock.monotonic_s())
            raise
        except Malformed as error:
            self._breaker.failed(self._clock.monotonic_s())
            raise CallGivenUp(f"the answer cannot be read: {error}") from None
        except Unavailable:
            self._breaker.failed(self._clock.monotonic_s())
            raise
        finally:
            self._budget.pay(name, self._endpoint.model, estimate, paid)
            self.spending.cost += paid
        if reply is not None:
            self._breaker.went_well()
        elif answer.meaning == "failed":
            self._breaker.failed(self._clock.monotonic_s())
        return answer, reply

    def _counted(self, reply: Reply, wire_bytes: int) -> float:
        """Count the tokens of an answer; returns the cost of its call."""
        usage = reply.usage or self._cost.expected
        self.spending.given_tokens += usage.prompt_tokens
        self.spending.answered_tokens += usage.completion_tokens
        return self._cost.of(usage, wire_bytes)


def _said(answer: EndpointAnswer) -> str:
    """The answer in place of a completion, in a line; it may repeat what the endpoint was sent."""
    if 300 <= answer.status < 400:
        return f"the server answers {answer.status}: redirects are not followed"
    words = printable(redact(answer.body[: 4 * QUOTED].decode("utf-8", "replace")).strip(), QUOTED)
    return f"the server answers {answer.status}: {words}" if words else f"the server answers {answer.status}"
