"""The hyper-parameters of sequential specialization, in one place (Shen, 2019, §5.3.2 and appendix C)."""

from __future__ import annotations

import msgspec

from specialization.weg.dominance import support


class WegConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One per node; the defaults are the paper's for objects and scenes.

    For faces it takes ``tau_a`` −0.05 and ``training_skew`` 0.5, for scenes ``training_skew`` 0.7. Where accuracy
    means agreement with the oracle, a* is 1 and τ_a negative: the agreement that may be lost.
    """

    classes: int
    """N: how many classes the oracle knows."""
    oracle_accuracy: float = 1.0
    """a*."""
    w_min: int = 30
    """Oracle answers in the first window of an epoch."""
    w_max: int = 240
    """The length of the longest window; so many answers are kept."""
    p_out: float | None = 0.01
    """Bound from which k follows for every window; None: k = 2 below w = 90, else 3, as the paper does in practice."""
    tau_r: int = 2
    """τ_r: dominant classes by which two windows of one epoch may differ, each way."""
    tau_a: float = 0.05
    """τ_a: the cascade's estimated accuracy must reach a* + τ_a."""
    least_agreement: float = 0.0
    """So many of a head's own answers must be right by its rates (not the paper's, which asks it of the whole cascade).

    A head of a few of the dominant classes answers for objects of the others too: where every other object is one of
    them, the cascade may be accurate enough while a seventh of the head's own answers are wrong.
    """
    tau_fp: float = 0.5
    """τ_FP: the share of a head's answers that the oracle may contradict."""
    epsilon: float = 0.01
    """ε: the share of a head's answers that are audited."""
    training_skew: float | None = 0.6
    """Share of dominant classes in what a head is trained on; None: the stream's skew (against figure 5.5 b)."""
    false_alarm: float = 1e-5
    """How rarely a test for change may err, per answer (not the paper's)."""
    retarget_cost: float = 15.0
    """R_0: what training a head costs, in runs of the oracle."""
    proof: float = 0.0
    """Answers during which a head that takes the place of another spares nothing, since it has to prove itself."""
    sought_every: int = 1
    """Answers from one search for a better head to the next; the paper searches after every answer."""
    heads_kept: int = 4
    """Heads of earlier epochs that are remembered, the present one included (not the paper's)."""

    @property
    def least_accuracy(self) -> float:
        """a* + τ_a."""
        return self.oracle_accuracy + self.tau_a

    def support(self, window: int) -> int:
        """k: how often a class must appear in a window to be dominant."""
        if self.p_out is None:
            return 2 if window < 90 else 3
        return support(self.classes, self.oracle_accuracy, window, self.p_out)
