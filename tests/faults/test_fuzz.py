"""Two thousand messages, half of them bad, on every topic that a worker reads; then the other readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fuzz.run import Account, Campaign
from tests.integration.kafka_side import read_all
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

SEED = 20_261
MESSAGES = 2000
MOST_GROWN_BYTES = 200 << 20


@pytest.fixture(scope="module")
def prefix() -> str:
    return "fuzzed."


@pytest.fixture(scope="module")
def account(kafka_broker: KafkaBroker, prefix: str, tmp_path_factory: pytest.TempPathFactory) -> Account:
    return Campaign(kafka_broker.bootstrap, prefix, tmp_path_factory.mktemp("fuzz"), SEED, MESSAGES).run()


def test_every_good_frame_is_analysed_and_every_bad_message_has_an_outcome(account: Account) -> None:
    assert account.good > MESSAGES / 3
    assert account.bad > MESSAGES / 3
    assert not account.good_unanswered, account.log_tail
    assert not account.bad_unanswered, account.log_tail


def test_the_worker_went_on_without_a_restart_in_bounded_memory(account: Account) -> None:
    assert not account.worker_ended, account.log_tail
    assert account.restarts == 0, account.log_tail
    assert account.grown_bytes < MOST_GROWN_BYTES


def test_watch_shows_all_results_amid_the_litter(account: Account, kafka_broker: KafkaBroker, prefix: str) -> None:
    where = ("--broker", kafka_broker.bootstrap, "--prefix", prefix)
    stored = list(read_all(kafka_broker.bootstrap, f"{prefix}results.v1"))
    done = sluice("watch", *where, "--json", "--from-beginning", "--timeout", 20)
    assert done.returncode == 0, done.stderr
    shown = {(line["stream"], line["seq"]) for line in map(json.loads, done.stdout.splitlines())}
    assert sum(stream.startswith("good-") for stream, _ in shown) == account.good
    assert len(shown) < len(stored), "some of the litter should have been no result"


def test_every_letter_can_be_read(account: Account, kafka_broker: KafkaBroker, prefix: str, tmp_path: Path) -> None:
    where = ("--broker", kafka_broker.bootstrap, "--prefix", prefix)
    stored = list(read_all(kafka_broker.bootstrap, f"{prefix}dlq.v1"))
    listed = sluice("dlq", "list", *where, "--json", "--limit", 100_000)
    assert listed.returncode == 0, listed.stderr
    letters = [json.loads(line) for line in listed.stdout.splitlines()]
    assert len(letters) == len(stored) > 100
    shown = sluice("dlq", "show", letters[0]["place"], *where, "--image", tmp_path / "image")
    assert shown.returncode in (0, 2), shown.stderr
    again = sluice("dlq", "replay", "--reason", letters[0]["reason"], "--dry-run", *where)
    assert again.returncode in (0, 1), again.stderr
