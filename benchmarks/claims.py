"""The papers' claims beside our figures, the page docs/claims.md: ``python -m benchmarks.claims > docs/claims.md``."""

from __future__ import annotations

from collections import Counter
from math import isinf

from benchmarks.claims_parts.claim import Claim, Figure, Paper, papers
from benchmarks.claims_parts.verdict import EXACT, IMPOSSIBLE, MEASURED, UNTRIED, judged, ours, verdict

ORDER = (*reversed(MEASURED), EXACT, IMPOSSIBLE, UNTRIED)
PAGE = """# What the papers claim, and what was measured here

Made by `python -m benchmarks.claims` from the CSVs in `benchmarks/results`: our figures and the verdicts are read and
reckoned, not typed. Each figure of ours is followed by its CSV, which `python -m benchmarks.NAME` of the same name
makes and whose first line names the machine: two cores without a GPU, for `gpu` an NVIDIA H100. [Benchmark
results](benchmarks.md) say how each was measured.

The verdict is a rule's. A figure is *reproduced* within a tenth of the paper's, or within the share that is said;
beyond that it is *better* or *worse*; *refuted* where nothing is left of the effect, or its opposite came out, with our
networks on our machine. A claim with several figures has the worst verdict of them. *In part*: not all of the claim was
compared. *Exact, by a test*: an example of the paper that a test computes. *Not tried* says no more than that.

{counts}
"""


def number(value: float) -> str:
    """Three digits that count.

    >>> number(1.5919), number(480), number(0.01411), number(float("inf"))
    ('1.59', '480', '0.0141', '∞')
    """
    if isinf(value):
        return "∞"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def line(figure: Figure, several: bool) -> str:
    low, high = map(number, figure.printed)
    printed = low if low == high else f"{low} or more" if high == "∞" else f"{low} to {high}"
    value = ours(figure)
    said = f"{figure.what}: {printed}, ours **{number(value)}**"
    if figure.within != Figure.__struct_defaults__[-1]:
        said += f", ± {figure.within * 100:.3g} %"
    if several:
        said += f" ({judged(figure, value)})"
    return f"{said}, [{figure.csv}](../benchmarks/results/{figure.csv}.csv)"


def row(claim: Claim) -> str:
    figures = [line(figure, len(claim.figures) > 1) for figure in claim.figures]
    tests = [f"`{test}`" for test in claim.tests]
    compared = [*([f"*{claim.ours}*"] if claim.ours else []), *figures, *tests]
    part = ", in part" if claim.rest and (figures or tests) else ""
    said = [claim.impossible, claim.why, claim.rest and f"not compared: {claim.rest}"]
    sentences = "".join(f" {each[0].upper()}{each[1:]}." for each in said if each)
    judgement = f"**{verdict(claim)}**{part}{'.' if sentences else ''}{sentences}"
    cells = (f"{claim.number}", claim.section, claim.claim, "<br>".join(compared), judgement)
    return f"| {' | '.join(cells)} |"


def counts(found: list[Paper]) -> str:
    """How many claims have which verdict, as a table."""
    claims = [claim for paper in found for claim in paper.claims]
    whole, part = (Counter(verdict(c) for c in claims if bool(c.rest) is rest) for rest in (False, True))
    lines = [
        f"| {each} | {whole[each] + part[each]} | {part[each] if each not in ORDER[-2:] else ''} |" for each in ORDER
    ]
    return "\n".join(["| verdict | claims | of these in part |", "|---|---|---|", *lines])


def page() -> str:
    found = papers()
    said = PAGE.format(counts=counts(found))
    for paper in found:
        head = "| | where | what they measured, on what | their figures, and ours | verdict |\n|---|---|---|---|---|"
        said += f"\n## {paper.title}\n\n{head}\n" + "\n".join(map(row, paper.claims)) + "\n"
    return said


if __name__ == "__main__":
    print(page(), end="")
