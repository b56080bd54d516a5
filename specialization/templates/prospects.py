"""Whether heads of a template can pay at an accuracy, as far as its measured rates tell. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from specialization.rates import MeasuredRates

TOLERATED = 0.5
"""Share of the allowed disagreement that a head may reach, so that audits can prove it good enough."""
FAVOURABLE_SKEW = 0.95
"""A stream that suits heads well: so many of its objects are of the classes that a head is for."""
LEAST_SAVING = 0.05
"""Share of the oracle's work that must be saved on such a stream."""
LEAST_SKEW = 0.5
"""Streams with less are not worth a head."""
LEAST_ANSWERED = 0.5
"""A head that answers less often is not used: it would say "other" most of the time."""
NO_ROOM = "it allows for no disagreement at all"
UNMEASURED = 0.8
"""Share of the objects that heads are thought to answer at best before it was measured."""


class Prospect(NamedTuple):
    """The prospects of a template; costs are shares of a look of the oracle."""

    cost: float
    """One input."""
    measured: Sequence[MeasuredRates]
    """Ascending by tolerance; without any the rates are measured on the stream."""
    passed: float = 1.0
    """The oracle for an input that a head passes on."""

    def saving(self, share: float) -> float:
        """The saving by heads that answer this share of the inputs."""
        return 1 - self.cost - (1 - share) * self.passed


def tolerance(accuracy: float, strictness: int = 0) -> float:
    """The share of its answers in which a head may be wrong; halved each time that heads agreed too seldom."""
    return (1 - accuracy) * TOLERATED * 0.5**strictness


def at_most(measured: Sequence[MeasuredRates], allowed: float) -> MeasuredRates | None:
    """The rates of the largest measured tolerance that is allowed; None where all are larger."""
    # Shares of an accuracy, as 1 − 0.99, are hardly ever exact.
    return next((each for each in reversed(measured) if each.tolerance <= allowed * (1 + 1e-9)), None)


def answered_share(measured: Sequence[MeasuredRates], allowed: float) -> float:
    """Share of the objects that the best heads answer on a favourable stream."""
    if not measured:
        return UNMEASURED
    found = at_most(measured, allowed)
    return max((1 - rates.cascaded(FAVOURABLE_SKEW) for rates in found.rates.values()), default=0.0) if found else 0.0


def why_not(templates: Mapping[str, Prospect], accuracy: float) -> str | None:
    """Why no head will be used, in one sentence; None where one might be."""
    found = hopeless(templates, accuracy)
    if not found or len(found) < len(templates):
        return None
    return at_accuracy(accuracy, "; ".join(dict.fromkeys(found.values())))


def hopeless(templates: Mapping[str, Prospect], accuracy: float) -> Mapping[str, str]:
    """The templates whose heads will not be used, with the cause."""
    causes = {name: _cause(name, prospect, accuracy) for name, prospect in templates.items()}
    return {name: cause for name, cause in causes.items() if cause}


def at_accuracy(accuracy: float, cause: str, what: str = "will not be used") -> str:
    """The sentence about heads that names the accuracy and the cause."""
    return f"heads {what} at accuracy {accuracy:g}: {cause}"


def dispensable(templates: Mapping[str, Prospect], accuracy: float) -> frozenset[str]:
    """Templates in whose place another one does better whatever the stream shows.

    The cost of a cascade is linear in the skew, so where another is not dearer at both ends, it never is.
    """
    allowed = tolerance(accuracy)
    known = {
        name: {
            n: [1 - prospect.saving(1 - rates.cascaded(skew)) for skew in (LEAST_SKEW, 1.0)]
            for n, rates in found.rates.items()
        }
        for name, prospect in templates.items()
        if (found := at_most(prospect.measured, allowed)) is not None
    }
    left: dict[str, Mapping[int, Sequence[float]]] = {}
    for name, costs in sorted(known.items(), key=lambda each: min(map(sum, each[1].values()), default=0.0)):
        if not any(_covers(other, costs) for other in left.values()):
            left[name] = costs
    return frozenset(known.keys() - left.keys())


def _covers(costs: Mapping[int, Sequence[float]], others: Mapping[int, Sequence[float]]) -> bool:
    """Whether these heads are cheaper than others at every number of classes and at both skews."""
    return all(n in costs and all(a <= b for a, b in zip(costs[n], others[n], strict=True)) for n in others)


def _cause(name: str, prospect: Prospect, accuracy: float) -> str | None:
    allowed, measured = tolerance(accuracy), prospect.measured
    if accuracy >= 1:
        return NO_ROOM
    if measured and at_most(measured, allowed) is None:
        strictest = measured[0].tolerance
        return (
            f"those of {name} may be wrong in {allowed:.2%} of their answers, and nobody has measured how well heads "
            f"do that may be wrong in less than {strictest:.1%}; {1 - strictest / TOLERATED:g} is possible"
        )
    share = answered_share(measured, allowed)
    if share >= LEAST_ANSWERED and prospect.saving(share) >= LEAST_SAVING:
        return None
    return (
        f"those of {name} that are wrong in {allowed:.1%} of their answers at most answer {share:.0%} of the objects "
        f"even on a stream that suits them, and looking costs {prospect.cost:.0%} of the oracle; "
        "more or better pictures may help"
    )
