"""Which nodes take stand-ins, and which variants of their networks are candidates on this machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from cache_adapt.audit.periods import Period, Recent
from cache_adapt.audit.state import Rule
from cache_adapt.audit.verdict import verdict
from pipelines.query.needs import needs_of
from pipelines.query.nodes import MOTION, DetectNode, NodeSpec, RecogniseNode, takes_frame
from pipelines.query.query_file import Query
from serving.catalogue.cards import Task
from serving.catalogue.lookup import Catalogue, Entry
from serving.common.precision import Precision
from serving.engines.execution_device import runs_on_gpu
from serving.errors import ModelError
from serving.variants.contest import PAYS, Contender, Contest, in_words, winner
from serving.variants.contest import read as read_contest
from serving.variants.profiles import installed
from serving.variants.variant import ON, EngineName, Variant

CANDIDATES: Mapping[Task, tuple[tuple[EngineName, Precision], ...]] = {
    "classify": (("onnxruntime", "int8"), ("openvino", "bf16"), ("openvino", "int8")),
    "detect": (("openvino", "bf16"),),
}
"""Ways that may cost less and say the same. Detectors in int8 cost more than in fp32, or miss what that finds."""


def stood_in_for(spec: NodeSpec, query: Query) -> str | None:
    """The network of a node in whose place a variant may answer unasked; None: there is none.

    A name with ``@`` means that very variant, and a list is the user's choice. Who somebody is, what a day's budget
    pays, and answers that go out before the network has ended are left to the network that the query names.
    """
    if query.variants != "auto" or query.learning.budget <= 0 or query.accuracy >= 1 or len(spec.models) != 1:
        return None
    (model,) = spec.models
    if not isinstance(spec, DetectNode | RecogniseNode) or "@" in model or ON in model or model == MOTION:
        return None
    if spec.budget is not None or spec.needs is not None or needs_of(spec.models) is not None:
        return None
    if isinstance(spec, DetectNode):
        return model if takes_frame(spec) and spec.detail != "auto" else None
    return None if spec.gallery is not None or spec.endpoints else model


def candidates(entry: Entry) -> tuple[Variant, ...]:
    """The variants that this machine may run; none on a GPU, whose time processor seconds do not show."""
    if runs_on_gpu():
        return ()
    pairs = CANDIDATES.get(entry.card.task, ())
    return tuple(Variant(entry.card.name, engine, precision) for engine, precision in pairs if installed(engine))


def listed(entry: Entry, contest: Contest | None, accuracy: float) -> tuple[str, ...]:
    """The variants that may come to answer in a process: the winner, or all where no contest was held yet."""
    if contest is None:
        return tuple(each.id for each in candidates(entry))
    won = winner(contest, accuracy)
    return () if won is None else (won.variant,)


def proven_by(contest: Contest | None, accuracy: float) -> Contender | None:
    """The winner of a contest that shows, by the bound of audits, that it agrees often enough; None: nobody."""
    won = None if contest is None else winner(contest, accuracy)
    if won is None or contest is None:
        return None
    differ = math.ceil(round((1 - won.agreement) * contest.items, 6))
    found = verdict(Recent(Period(audits=contest.items, disagreements=differ)), Rule(accuracy))
    return won if found == "good" else None


def contests(query: Query, known: Catalogue, artefacts_dir: Path) -> dict[str, tuple[Entry, Contest | None]]:
    """The networks of a query that may have stand-ins here, with their entries and the contests that were held."""
    found: dict[str, tuple[Entry, Contest | None]] = {}
    for model in dict.fromkeys(filter(None, (stood_in_for(spec, query) for spec in query.nodes))):
        try:
            entry = known.find(model)
        except ModelError:
            continue  # said where the query is checked
        if candidates(entry):
            found[model] = entry, read_contest(entry, artefacts_dir)
    return found


def prospects(query: Query, known: Catalogue, artefacts_dir: Path) -> list[str]:
    """A line for each network of a query that may have a stand-in on this machine: which, and why."""
    found = contests(query, known, artefacts_dir)
    return [prospect(model, contest, query.accuracy) for model, (_, contest) in found.items()]


def prospect(model: str, contest: Contest | None, accuracy: float) -> str:
    """Which variant may stand in for a network, and why; without a contest how there comes to be one."""
    if contest is None:
        return f"{model}: its variants are compared by `sluice learn`, else once it has run for hours"
    won = winner(contest, accuracy)
    if won is None:
        return f"{model} has no stand-in: no variant that agrees takes {PAYS:g} of its processor time or less"
    does = "answers on every stream, audited" if proven_by(contest, accuracy) else "is tried on every stream"
    return f"{won.variant} {does}: {in_words(contest, won)}"
