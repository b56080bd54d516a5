"""A real Prometheus that scrapes one address every second."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Self

from tests.real.ports import free_port
from tests.real.require import unavailable

CONFIG = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - {{job_name: sluice, static_configs: [{{targets: ["{target}"]}}]}}
"""
START_S = 30.0


def require_prometheus() -> None:
    """Skip, or fail where real parts are demanded, without it."""
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        unavailable("Prometheus", "there is no prometheus or promtool", "apt-get install prometheus")


class Prometheus:
    """Runs while the block does, with its data in ``folder``."""

    def __init__(self, folder: Path, target: str, rules: Path) -> None:
        self._folder, self._port = folder, free_port()
        (folder / "prometheus.yml").write_text(CONFIG.format(rules=rules, target=target))
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """The rows of an instant query; raises ``HTTPError`` where the expression is wrong."""
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/api/v1/query?{query}", timeout=10) as answer:
            rows: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return rows

    def __enter__(self) -> Self:
        require_prometheus()
        arguments = {
            "config.file": self._folder / "prometheus.yml",
            "storage.tsdb.path": self._folder / "data",
            "web.listen-address": f"127.0.0.1:{self._port}",
        }
        with (self._folder / "prometheus.log").open("wb") as log:
            command = ["prometheus", *(f"--{name}={value}" for name, value in arguments.items())]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline_s = time.monotonic() + START_S
        while not self._ready():
            assert time.monotonic() < deadline_s, (self._folder / "prometheus.log").read_text()
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _ready(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=5).close()
        except OSError:
            return False
        return True
