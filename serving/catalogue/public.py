"""The public models that can be fetched: ``public.yaml`` as data."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from serving.catalogue.cards import FileName, ModelCard, parse_card, safe_load
from serving.common.explain import Strict, choices
from serving.errors import ModelError

PUBLIC = Path(__file__).with_name("public.yaml")
CLASSES = Path(__file__).parents[1] / "classes"


class Build(Strict):
    """The exact content of a file."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size_bytes: int = Field(gt=0)


class PublicModel(Strict):
    """Where a model's weights lie, which contents are accepted, and the card to write beside them."""

    name: str
    file: FileName
    urls: tuple[str, ...] = Field(min_length=1)
    """Tried in this order."""
    builds: tuple[Build, ...] = Field(min_length=1)
    """The first is what the URLs serve."""
    classes: FileName | None = None
    """A file of ``serving/classes``."""
    card: dict[str, Any]

    def card_for(self, build: Build) -> ModelCard:
        return parse_card(self.card_data(build), f"{PUBLIC.name}: {self.name}")

    def card_data(self, build: Build) -> dict[str, Any]:
        """The content of its ``model.yaml``."""
        classes = {"classes": self.class_names()} if self.classes else {}
        return {"name": self.name, **self.card, "file": self.file, "sha256": build.sha256, **classes}

    def class_names(self) -> list[str]:
        """The lines of the file of classes; empty where there is none."""
        return (CLASSES / self.classes).read_text(encoding="utf-8").splitlines() if self.classes else []


@cache
def public_models() -> dict[str, PublicModel]:
    raw = safe_load(PUBLIC.read_text(encoding="utf-8"))["models"]
    return {name: PublicModel(name=name, **model) for name, model in sorted(raw.items())}


def public_model(name: str) -> PublicModel:
    """One by name; raises ModelError with a near miss."""
    models = public_models()
    if name not in models:
        raise ModelError(f"no public model {name!r}{choices(name, models)}")
    return models[name]
