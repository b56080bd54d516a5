"""The how-to about Kubernetes: what it types gives objects, though no cluster is there to take them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from pipelines.query.draft import load_query
from tests.how_to.reader import Reader
from tests.real.helm import helm


def test_the_chart_is_installed_as_the_page_says_and_given_a_gpu(tmp_path: Path) -> None:
    with Reader("kubernetes", tmp_path) as reader:
        install = reader.block("")
        assert "kubectl" in install
        words = re.search(r"helm install (.*?)\nkubectl", install, re.S)
        assert words is not None

        token = reader.block("yaml")
        query = (reader.folder / "examples" / "vehicles.yaml").read_text()
        for word, other in {"nodes:": f"{token}nodes:", "[vehicle-type,": "[vehicle-type on gpu,"}.items():
            query = query.replace(word, other)
        (reader.folder / "yard.yaml").write_text(query)
        assert load_query(reader.folder / "yard.yaml").backends
        values = reader.write("gpu.yaml", "yaml")

        line = f"{helm()} template --kube-version 1.33.0 {words[1]} --values {values}"
        typed = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, timeout=120, cwd=reader.folder, check=False
        )
        assert typed.returncode == 0, typed.stderr
    found: dict[tuple[str, str], dict[str, Any]] = {
        (each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(typed.stdout) if each
    }
    pod = found["Deployment", "sluice-backend-nvidia"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "registry.example/sluice-video:0.1.0-gpu"
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert ("ScaledObject", "sluice-backend-nvidia") in found
    assert ("Service", "sluice-serve") in found, "the one that is forwarded to"
