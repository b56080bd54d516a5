"""The file of sinks: what it may say, where secrets come from, and that no message quotes one."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from pipelines.observe.forward.opening import open_sinks
from pipelines.observe.forward.sinks_file import KINDS, MOST_SINKS, load_sinks
from pipelines.observe.forward.webhook import signature
from serving.common.redaction import redact
from serving.errors import BadInput
from tests.doc_pages import ROOT, blocks

PAGE = ROOT / "docs" / "how-to" / "forward-events.md"
HOOK = "{name: hook, to: webhook, url: 'https://a.example/x'"
HOME = "{name: home, to: mqtt, url: 'mqtts://a.example'"


def written(folder: Path, *sinks: str) -> Path:
    (folder / "sinks.yaml").write_text("\n".join(["version: 1", "sinks:", *(f"  - {sink}" for sink in sinks), ""]))
    return folder / "sinks.yaml"


def test_the_example_of_the_documentation_is_right(tmp_path: Path) -> None:
    (example,) = blocks(PAGE, "yaml")
    (tmp_path / "sinks.yaml").write_text(example)
    file = load_sinks(tmp_path / "sinks.yaml")
    assert [(sink.name, sink.to) for sink in file.sinks] == [("home", "mqtt"), ("alarms", "webhook")]


def test_every_key_is_documented(tmp_path: Path) -> None:
    file = load_sinks(written(tmp_path, f"{HOOK}}}", f"{HOME}}}"))
    keys = {key for sink in file.sinks for key in type(sink).model_fields}
    page = PAGE.read_text(encoding="utf-8")
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def test_kinds_are_those_of_events_and_states() -> None:
    assert {"new", "update", "end", "state"} <= set(KINDS)


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        (f"{HOOK}, kind: [new]}}", "sinks[0].kind: unknown key; did you mean 'kinds'?"),
        (f"{HOOK}, kinds: [nwe]}}", "is 'nwe'; did you mean 'new'? allowed: new, update, end"),
        (f"{HOOK}, secret: hunter22hunter22}}", "a secret does not belong in this file: write {env: NAME} or"),
        (f"{HOOK}, secret: {{env: A, file: b}}}}", "give either env or file"),
        (f"{HOOK}, timeout_s: 0}}", "sinks[0].timeout_s"),
        (f"{HOOK}, snapshot: {{max_width: 9}}}}", "sinks[0].snapshot.max_width"),
        ("{name: a, to: webhook, url: 'ftp://a'}", "sinks[0].url: should begin with https:// or http://"),
        ("{name: a, to: webhook, url: 'https://user:hunter22@a'}", "sinks[0].url: must not carry a user or password"),
        ("{name: a, to: webhook, url: 'https://[a'}", "sinks[0].url: is no address"),
        ("{name: a, to: webhook, url: 'https://a b/'}", "sinks[0].url: should be an address such as https://host:port"),
        ("{name: a, to: webhook}", "sinks[0].url: is missing"),
        ("{name: a, to: mqtt, url: 'mqtts://a/topic'}", "should be mqtts://HOST:PORT and nothing more"),
        (f"{HOME}, password: {{env: A}}}}", "password: there is no username"),
        (f"{HOME}, topic_prefix: 'a/+'}}", "sinks[0].topic_prefix"),
        (f"{HOME}, home_assistant: '#'}}", "sinks[0].home_assistant"),
        ("{name: a, to: mail, url: 'x'}", "sinks[0].to: is 'mail'; allowed: mqtt, webhook"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_that_quotes_no_secret(tmp_path: Path, sink: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_sinks(written(tmp_path, sink))
    (line,) = str(caught.value).splitlines()
    assert said in line
    assert line.startswith(f"{tmp_path / 'sinks.yaml'}:3: ")
    assert "hunter22" not in line


def test_names_are_unique_and_sinks_are_few(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"sinks\[1\]\.name: 'hook' is the name of sinks\[0\] too"):
        load_sinks(written(tmp_path, f"{HOOK}}}", f"{HOOK}}}"))
    with pytest.raises(BadInput, match="sinks"):
        load_sinks(written(tmp_path, *(f"{{name: s{n}, to: webhook, url: 'http://a'}}" for n in range(MOST_SINKS + 1))))
    (tmp_path / "sinks.yaml").write_text("")
    with pytest.raises(BadInput, match="is empty"):
        load_sinks(tmp_path / "sinks.yaml")


def test_secrets_come_from_files_and_the_environment_and_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "address").write_text("https://a.example/services/T0KEN1234\nanother line\n")
    monkeypatch.setattr("pipelines.query.secret_places.variable", {"HOOK_SECRET": "hunter22hunter22"}.get)
    path = written(tmp_path, "{name: a, to: webhook, url: {file: address}, secret: {env: HOOK_SECRET}}")
    ((_, sink),) = open_sinks(load_sinks(path), path)
    said = "posting to https://a.example/services/T0KEN1234, path /services/T0KEN1234, by hunter22hunter22"
    assert redact(said) == "posting to ***, path /***, by ***"
    assert "hunter22" not in repr(vars(sink))
    assert "T0KEN1234" not in repr(vars(sink))


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        (f"{HOOK}, secret: {{file: none}}}}", r"sinks\[0\]\.secret: .*none: No such file"),
        (f"{HOOK}, secret: {{file: short}}}}", r"sinks\[0\]\.secret: give at least 16 characters"),
        (f"{HOOK}, secret: {{file: empty}}}}", r"sinks\[0\]\.secret: a secret has 1 to 4096"),
        (f"{HOOK}, secret: {{env: SLUICE_TEST_NOT_SET}}}}", "the environment variable SLUICE_TEST_NOT_SET is not set"),
        (f"{HOOK}, cafile: short}}", r"sinks\[0\]\.cafile: cannot use short"),
        ("{name: a, to: webhook, url: {file: short}}", r"sinks\[0\]\.url: should begin with https"),
    ],
)
def test_a_secret_that_cannot_be_had_is_named_by_its_key(tmp_path: Path, sink: str, said: str) -> None:
    (tmp_path / "short").write_text("hunter22")
    (tmp_path / "empty").write_text("\n")
    path = written(tmp_path, sink)
    with pytest.raises(BadInput, match=rf"^{re.escape(str(path))}: .*{said}") as caught:
        open_sinks(load_sinks(path), path)
    assert "hunter22" not in str(caught.value)


def test_a_password_in_the_clear_is_remarked_upon(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "password").write_text("hunter22")
    path = written(tmp_path, "{name: a, to: mqtt, url: 'mqtt://a', username: u, password: {file: password}}")
    open_sinks(load_sinks(path), path)
    assert [record.getMessage() for record in caplog.records] == [
        "sink a: the password travels without encryption: mqtts:// encrypts it"
    ]


def test_the_receivers_example_knows_ours_from_others() -> None:
    example, _ = blocks(PAGE, "python")
    names: dict[str, object] = {}
    exec(compile(textwrap.dedent(example), "receiver.py", "exec", dont_inherit=True), names)
    is_ours = names["is_ours"]
    assert callable(is_ours)
    now_s = int(names["time"].time())  # type: ignore[attr-defined]
    assert is_ours(signature("s" * 16, now_s, b"{}"), b"{}", "s" * 16)
    assert not is_ours(signature("s" * 16, now_s, b"{}"), b"{ }", "s" * 16)
    assert not is_ours(signature("t" * 16, now_s, b"{}"), b"{}", "s" * 16)
    assert not is_ours(signature("s" * 16, now_s - 600, b"{}"), b"{}", "s" * 16)
