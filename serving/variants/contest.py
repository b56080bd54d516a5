"""A contest of ways to run one network on this machine: what each takes of the processor, and how far it agrees.

It is kept as JSON beside the network's artefacts, and holds as long as machine, engines, network and the built files
stay the same. The winner may stand in for the network where a query names no variant.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from serving.catalogue.lookup import Entry
from serving.common import files as atomic
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from serving.variants.artefacts import folder, identity
from serving.variants.profiles import Fingerprint, fingerprint
from serving.variants.variant import ENGINES, parse

log = logging.getLogger(__name__)

SCHEMA = "sluice.contest/2"
FILE = "contest.json"
MOST = 16
"""Contenders of a contest."""
LARGEST = 64 << 10
"""Bytes of what is kept."""
LONGEST = 300
"""Characters of a reason."""
PAYS = 0.85
"""A variant that takes more than this share of what its network takes is not worth a change."""

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]


class Contender(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    variant: str
    identity: str = ""
    """Digest of what it runs."""
    processor_s: Seconds = 0.0
    """Processor seconds of one item, all threads together, the median."""
    load_s: Seconds = 0.0
    """Processor seconds to open it."""
    agreement: Share = 0.0
    """Share of the items of which it says what the network says."""
    refused: Annotated[str, msgspec.Meta(max_length=LONGEST)] = ""
    """Why it cannot run here; empty where it can."""


class Contest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The figures of one network and of its variants."""

    schema: str = SCHEMA
    identity: str
    """The network's, as its card has it."""
    fingerprints: Mapping[str, Fingerprint]
    """The machine as each engine sees it."""
    processor_s: Seconds
    """Processor seconds of one item, by the network as it is."""
    items: Annotated[int, msgspec.Meta(ge=0)]
    """Items on which answers were compared."""
    contenders: Annotated[tuple[Contender, ...], msgspec.Meta(max_length=MOST)]
    measured_at: str
    """ISO 8601, UTC."""


def machine() -> dict[str, Fingerprint]:
    """The machine of this process, by engine."""
    return {engine: fingerprint(engine) for engine in ENGINES}


def least_agreement(accuracy: float) -> float:
    """Half of what ``accuracy`` allows is left to the streams: a contest sees few pictures, and nobody asked for it.

    >>> round(least_agreement(0.9), 3)
    0.95
    """
    return (1 + accuracy) / 2


def winner(contest: Contest, accuracy: float) -> Contender | None:
    """The contender that takes least of the processor, of those that agree and pay; None: the network as it is. Pure.

    ``accuracy``: the agreement that the query wants.
    """
    fit = [
        each
        for each in contest.contenders
        if not each.refused
        and each.agreement >= least_agreement(accuracy)
        and 0 < each.processor_s <= PAYS * contest.processor_s
    ]
    return min(fit, key=lambda each: each.processor_s, default=None)


def in_words(contest: Contest, won: Contender) -> str:
    """Why a variant stands in for its network."""
    return (
        f"it stands in for {parse(won.variant).model}: {1000 * won.processor_s:.2f} ms of a processor for one item in "
        f"place of {1000 * contest.processor_s:.2f}, and {won.agreement:.3f} of {contest.items} answers are the same"
    )


def store(contest: Contest, entry: Entry, artefacts_dir: Path) -> None:
    """Keep a contest; raises BadInput where it cannot be written."""
    atomic.write(folder(artefacts_dir, entry) / FILE, msgspec.json.encode(contest))


def read(entry: Entry, artefacts_dir: Path) -> Contest | None:
    """The contest of a network, as far as it holds; None where there is none that does: another one is to be held."""
    path = folder(artefacts_dir, entry) / FILE
    try:
        found = decode(path.read_bytes(), Contest, LARGEST)
        contenders = tuple(each for each in found.contenders if _is_same(each, entry, artefacts_dir))
    except FileNotFoundError:
        return None
    except (OSError, Malformed, ModelError) as error:
        log.warning("%s: not a contest that can be used, so another one is held: %s", path, error)
        return None
    fits = (found.schema, found.identity, dict(found.fingerprints)) == (SCHEMA, entry.card.identity, machine())
    return found if fits and contenders == found.contenders else None


def _is_same(each: Contender, entry: Entry, artefacts_dir: Path) -> bool:
    """Whether a contender still runs what was measured; ModelError where its name or its file is of no use."""
    variant = parse(each.variant)
    if variant.model != entry.card.name:
        raise ModelError(f"{each.variant} is no variant of {entry.card.name}")
    return bool(each.refused) or identity(entry, variant, artefacts_dir) == each.identity
