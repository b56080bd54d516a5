"""Keys tell apart whatever differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cache_adapt.adaptation.targets import Target
from tests.cache_adapt.adaptation.majority import OTHERS, SPEC, SUBJECT, TARGET


def test_whatever_differs_has_another_key() -> None:
    subjects = [replace(SUBJECT, **{name: "x"}) for name in ("node", "network", "network_identity", "labels", "stream")]
    moved = replace(SUBJECT, node="typen", network="et")  # the same letters, parted elsewhere
    targets = [
        TARGET,
        *(Target(subject, SPEC) for subject in (*subjects, moved)),
        Target(SUBJECT, OTHERS),
    ]
    assert len({target.key for target in targets}) == len(targets)
    assert TARGET.key == Target(replace(SUBJECT), SPEC).key
    assert TARGET.key.startswith("type/exits/")


def test_what_is_one_streams_alone_takes_nothing_of_another() -> None:
    SUBJECT.check("any")
    own = replace(SUBJECT, stream="gate")
    own.check("gate")
    with pytest.raises(ValueError, match="stream 'yard' has nothing to say of what is of stream 'gate' alone"):
        own.check("yard")
