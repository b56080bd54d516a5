"""How sure a share of disagreements is, after some audits: an interval for one look, and one valid at every look.

**For one look** (Clopper & Pearson, 1934): of ``audits`` objects drawn at random ``disagreements`` were wrong, and the
binomial tails say which shares of all objects are compatible with that.

**At every look.** A report that is read again and again, and a switch thrown the first time that a bound is crossed,
need an interval that errs at no time. d_i = 1 if audit i disagrees; p_i is the probability of that, given the outcomes
of all audits before it. Nothing is assumed of the p_i: the content may drift, come in bursts, or answer to what was
audited. N = Σ d_i, m = Σ p_i. For every factor r > 0

    r^N e^(−(r−1) m)

is a non-negative supermartingale that begins at 1, since 1 + p_i (r−1) ≤ e^(p_i (r−1)): N is *sub-Poisson* (Howard et
al., 2020, "Time-uniform Chernoff bounds via nonnegative supermartingales"). So is its mixture over r ~ Exponential(1),
a gamma-Poisson mixture (Howard et al., 2021, "Time-uniform, nonparametric, nonasymptotic confidence sequences", §3.2;
the method of mixtures is Robbins', 1970), which can be written down:

    M(N, m) = e^m N! / (1 + m)^(N+1)

By Ville's inequality (1939) it ever reaches 1/α with a probability of α at most. All m with M(N, m) < 1/α are therefore
an interval that holds m at all times at once with a probability of 1 − α. Divided by the number of audits it holds the
mean of the p_i: how often the objects that were drawn had to disagree.
"""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec

from cache_adapt.bisection import crossing
from learning.binomial import at_least

REMEMBERED = 1024
"""Number of intervals that are kept: reports are made again and again between two audits."""


class ConfidenceInterval(msgspec.Struct, frozen=True):
    """From ``low`` to ``high``."""

    low: float
    high: float


@lru_cache(maxsize=REMEMBERED)
def exact(disagreements: int, audits: int, error: float) -> ConfidenceInterval:
    """Clopper–Pearson interval of the agreement, 0…1; for one look it errs with probability ``error`` at most."""
    agreements, tail = audits - disagreements, error / 2
    low = 0.0 if agreements == 0 else _share(agreements, audits, tail)
    high = 1.0 if disagreements == 0 else _share(agreements + 1, audits, 1 - tail)
    return ConfidenceInterval(low, high)


def _share(successes: int, trials: int, tail: float) -> float:
    """The share of successes with which so many of them, or more, have the probability ``tail``."""
    return crossing(lambda share: at_least(successes, trials, share) - tail, 0.0, 1.0)


def sequential(disagreements: float, audits: float, error: float) -> ConfidenceInterval:
    """Interval of the agreement, 0…1, all of whose looks together err with probability ``error`` at most."""
    if not audits:
        return ConfidenceInterval(0.0, 1.0)
    fewest, most = _least_expected(disagreements, error), most_expected(disagreements, error)
    return ConfidenceInterval(max(0.0, 1 - most / audits), min(1.0, max(0.0, 1 - fewest / audits)))


def against(disagreements: float, expected: float, error: float) -> bool:
    """Whether so many disagreements rule out, at every look, that m is ``expected``."""
    return _log_mixture(disagreements, expected) >= -math.log(error)


def _log_mixture(n: float, m: float) -> float:
    return m + math.lgamma(n + 1) - (n + 1) * math.log1p(m)


def most_expected(n: float, error: float) -> float:
    """The greatest m that n disagreements do not rule out: log M rises from m = n on."""
    far = 2.0 * (n + 1)
    while not against(n, far, error):
        far *= 2
    return crossing(lambda m: _log_mixture(n, m) + math.log(error), n, far)


def _least_expected(n: float, error: float) -> float:
    """The least m that they do not rule out: log M falls until m = n."""
    if not n or not against(n, 0.0, error):
        return 0.0
    return crossing(lambda m: _log_mixture(n, m) + math.log(error), 0.0, n)
