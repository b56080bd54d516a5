"""The page of metrics lists what there is; alerts and dashboard use nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from pipelines.observe.metrics.families import BACKEND, EVIDENCE, FLEET, RECORDED, STANDING, Family
from pipelines.settings import METRICS_STREAMS

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
FAMILIES = (*RECORDED, *STANDING, *EVIDENCE, *BACKEND, *FLEET)
DASHBOARD = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text(encoding="utf-8"))
ALERTS = [
    rule
    for group in yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]


def row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels) or "–"
    return f"| `{family.sample}` | {family.kind} | {labels} | {family.help} |"


def test_the_page_lists_every_metric_as_it_is_and_no_other() -> None:
    listed = [line for line in PAGE.splitlines() if line.startswith("| `sluice_")]
    assert sorted(listed) == sorted(map(row, FAMILIES))


def test_names_carry_their_units() -> None:
    for family in FAMILIES:
        assert re.fullmatch(r"sluice_[a-z_]+", family.name)
        assert family.kind != "histogram" or family.name.endswith("_seconds")


def used(expression: str) -> set[str]:
    return set(re.findall(r"\bsluice_\w+", expression))


def test_alerts_and_dashboard_ask_for_metrics_that_exist() -> None:
    known = {family.sample for family in FAMILIES}
    known |= {
        f"{each.name}_{part}" for each in FAMILIES if each.kind == "histogram" for part in ("bucket", "sum", "count")
    }
    targets = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    asked = {name for expression in [*targets, *(rule["expr"] for rule in ALERTS)] for name in used(expression)}
    assert asked
    assert asked - known == set()


def test_every_alert_says_what_to_do_and_is_on_the_page() -> None:
    assert len(ALERTS) == 10
    for rule in ALERTS:
        assert rule["annotations"]["action"].endswith(".")
        assert f"`{rule['alert']}`" in PAGE


def test_the_bound_of_streams_is_told() -> None:
    assert f"`SLUICE_METRICS_STREAMS` ({METRICS_STREAMS})" in PAGE
    memory = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    assert f"| streams with metrics of their own | {METRICS_STREAMS} | `SLUICE_METRICS_STREAMS=500` |" in memory
