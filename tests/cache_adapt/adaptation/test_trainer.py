"""Exits that are trained while streams run: what is wanted, made and judged."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.adaptation import trainer
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.trainer import NodeNetwork, Trainer
from cache_adapt.adaptation.window import NO_ROWS, Rows
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import MOST_ROWS, fit
from cache_adapt.learned.specs import ExitsSpec
from cache_adapt.learned.vocabulary import Vocabulary
from serving.common.threads import ThreadTime
from serving.errors import ModelError, SluiceError
from tests.cache_adapt.learned.taught import SHA, SPEC, WORDS, in_folds, samples

SUBJECT = Subject("type", "vehicle", SHA, "cd" * 32)
TARGET = Target(SUBJECT, SPEC)
NETWORK = NodeNetwork("vehicle", SHA, "cd" * 32, WORDS)


def trained() -> Trainer:
    return Trainer({"type": NETWORK})


def rows(count: int, seed: int = 0) -> Rows:
    known = in_folds(samples(count, seed))
    return Rows(SPEC.layout.packed(known), known.words.astype(np.int32))


@pytest.fixture(scope="module")
def data() -> bytes:
    took = ThreadTime()
    made = asyncio.run(trained().train(TARGET, rows(600), took))
    assert took.seconds > 0
    return made


def test_exits_are_trained_for_the_cuts_that_were_wanted(data):
    artefact = ExitArtefact.from_bytes(data)
    assert SPEC.why_unfit(artefact.card, SHA) is None
    assert artefact.tensors == ("early", "late")
    assert all(each.threshold == 0 for each in artefact.exits)


def test_they_are_worth_how_probable_they_find_the_end_s_words(data):
    held = rows(200, seed=1)
    worth = trained().judge(TARGET, data, held)
    assert 0.5 < worth < 1
    others = Rows(held.features, (held.labels + 1) % (WORDS.labels + 1))
    assert trained().judge(TARGET, data, others) < 0.5


def test_more_samples_make_better_exits_as_a_few_that_were_held_back_tell(data):
    few = asyncio.run(trained().train(TARGET, rows(60), ThreadTime()))
    for seed in range(1, 9):
        held = rows(40, seed=seed)
        assert trained().judge(TARGET, few, held) < trained().judge(TARGET, data, held)


def test_without_samples_an_artefact_is_only_checked(data):
    assert trained().judge(TARGET, data, NO_ROWS) == 0
    with pytest.raises(ModelError):
        trained().judge(TARGET, data[:-1], NO_ROWS)
    other = replace(TARGET, subject=replace(SUBJECT, network_identity="ee" * 32))
    with pytest.raises(ModelError, match="for other weights"):
        trained().judge(other, data, NO_ROWS)


def test_samples_of_another_layout_are_refused(data):
    held = rows(50)
    with pytest.raises(ModelError):
        trained().judge(TARGET, data, Rows(held.features[:, 1:], held.labels))


async def test_a_training_that_fails_is_paid_for_and_says_why():
    took = ThreadTime()
    same = rows(200)
    same.labels[:] = 1
    with pytest.raises(SluiceError, match="same word"):
        await trained().train(TARGET, same, took)

    with pytest.raises(ModelError, match="no numbers"):
        await trained().train(TARGET, Rows(np.full_like(same.features, np.nan), same.labels), took)
    assert took.seconds > 0


def test_samples_of_other_networks_are_foreign():
    assert trained().why_foreign(SUBJECT) is None
    for changed in ({"node": "other"}, {"network": "x"}, {"network_identity": "ee" * 32}, {"labels": "ee" * 32}):
        assert trained().why_foreign(replace(SUBJECT, **changed))
        assert trained().why_not(replace(TARGET, subject=replace(SUBJECT, **changed)))


def test_in_the_process_that_wants_them_no_network_is_foreign():
    assert Trainer().why_not(replace(TARGET, subject=replace(SUBJECT, node="other"))) is None


def test_a_target_that_cannot_be_met_is_refused():
    assert trained().why_not(TARGET) is None
    other = ExitsSpec(SPEC.cuts, Vocabulary(4, 0.1, (3,)), 0.9)
    assert "other words" in (trained().why_not(replace(TARGET, spec=other)) or "")


def test_of_a_node_that_names_whom_it_was_shown_any_words_will_do():
    open_ = Trainer({"type": NodeNetwork("vehicle", SHA)})
    assert open_.why_not(replace(TARGET, subject=replace(SUBJECT, labels="ee" * 32))) is None
    assert open_.why_not(replace(TARGET, subject=replace(SUBJECT, network_identity="ee" * 32)))


async def test_the_newest_samples_alone_are_trained_on():
    many = rows(MOST_ROWS + 50)
    newest = Rows(many.features[50:], many.labels[50:])
    one, other = [(await trained().train(TARGET, each, ThreadTime())) for each in (many, newest)]
    assert one == other
    assert ExitArtefact.from_bytes(one).card.samples == MOST_ROWS


async def test_looks_go_on_while_exits_are_trained(monkeypatch):
    begun, go = threading.Event(), threading.Event()

    def slow(*given):
        begun.set()
        assert go.wait(120)
        return fit(*given)

    monkeypatch.setattr(trainer, "fit", slow)
    training = asyncio.create_task(trained().train(TARGET, rows(200), ThreadTime()))
    assert await asyncio.to_thread(begun.wait, 10)
    go.set()
    assert ExitArtefact.from_bytes(await training).tensors == ("early", "late")
