"""``deploy/chart`` as Helm renders it: what Kubernetes' schemas refuse, what our commands take, and who may do what.

No cluster runs here. Objects of KEDA and of the Prometheus operator are held against schemas written from their
documentation, of the fields that the chart has.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from pipelines.query.draft import load_query
from pipelines.settings import (
    decoded_memory,
    device,
    hwaccel,
    metrics_streams,
    model_memory,
    model_timeout_s,
    parse_servers,
    stalled_end_s,
    stream_bounds,
)
from serving.catalogue.public import public_models
from serving.errors import BadInput
from tests.commands import accepted
from tests.real.helm import helm

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "chart"
ALL = ("--values", CHART / "ci" / "all.yaml")
FEW = ("--set-file", rf"queries.yard\.yaml={ROOT}/examples/compose.yaml")
SEVERAL = (*FEW, "--set-file", rf"queries.people\.yaml={ROOT}/examples/people.yaml")
SETS = {"all": ALL, "few": FEW, "several": SEVERAL}
KUBERNETES = "1.33.0"
PAID = r"nodes: [{budget: {per_day: 5 EUR}\, name: n}]"
SITE = "name: yard\n    publish: {topics: {prefix: yards.}}\n"

Thing = dict[str, Any]


def render(*given: object) -> subprocess.CompletedProcess[str]:
    words = [helm(), "template", "sluice", CHART, "--namespace", "video", "--kube-version", KUBERNETES, *given]
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=120, check=False)


@cache
def rendered(*given: object) -> list[Thing]:
    done = render(*given)
    assert done.returncode == 0, done.stderr
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def of(kind: str, *given: object) -> dict[str, Thing]:
    return {each["metadata"]["name"]: each for each in rendered(*given) if each["kind"] == kind}


def pods(*given: object) -> Iterator[tuple[str, Thing]]:
    for each in rendered(*given):
        if each["kind"] in ("Deployment", "Job"):
            yield each["metadata"]["name"], each["spec"]["template"]


def closed(required: dict[str, Any], optional: dict[str, Any] | None = None) -> Thing:
    """An object with these fields and no other."""
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


TEXT, COUNT = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}
NAMED = closed({"name": TEXT})
METADATA = closed({"name": TEXT, "namespace": TEXT, "labels": {"type": "object", "additionalProperties": TEXT}})
BEHAVIOR = closed({"scaleDown": closed({"stabilizationWindowSeconds": COUNT})})
# keda.sh/docs: scalers apache-kafka and metrics-api, whose metadata is text.
KAFKA = closed(
    {"bootstrapServers": TEXT, "consumerGroup": TEXT, "topic": TEXT, "lagThreshold": TEXT},
    {"offsetResetPolicy": {"enum": ["earliest", "latest"]}},
)
METRICS_API = closed(
    {"url": {"type": "string", "pattern": "^http://"}, "valueLocation": TEXT, "targetValue": TEXT},
    {"authMode": {"enum": ["apiKey", "basic", "tls", "bearer"]}},
)
TRIGGER = {
    "oneOf": [
        closed({"type": {"const": "kafka"}, "metadata": KAFKA}, {"authenticationRef": NAMED}),
        closed(
            {"type": {"const": "metrics-api"}, "metadata": METRICS_API},
            {"authenticationRef": NAMED, "metricType": {"enum": ["AverageValue", "Value"]}},
        ),
    ]
}
CUSTOM = {
    "ScaledObject": closed(
        {
            "scaleTargetRef": NAMED,
            "minReplicaCount": COUNT,
            "maxReplicaCount": COUNT,
            "triggers": {"type": "array", "items": TRIGGER, "minItems": 1},
        },
        {
            "pollingInterval": COUNT,
            "advanced": closed({"horizontalPodAutoscalerConfig": closed({"behavior": BEHAVIOR})}),
        },
    ),
    "TriggerAuthentication": closed(
        {"secretTargetRef": {"type": "array", "items": closed({"parameter": TEXT, "name": TEXT, "key": TEXT})}}
    ),
    "PodMonitor": closed(
        {
            "jobLabel": TEXT,
            "selector": closed({"matchLabels": {"type": "object"}}, {"matchExpressions": {"type": "array"}}),
            "podMetricsEndpoints": {
                "type": "array",
                "items": closed(
                    {"port": TEXT},
                    {
                        "path": TEXT,
                        "interval": {"type": "string", "pattern": "^[0-9]+s$"},
                        "authorization": closed({"credentials": closed({"name": TEXT, "key": TEXT})}),
                    },
                ),
            },
        }
    ),
}
VERSIONS = {"PodMonitor": "monitoring.coreos.com/v1"}


@pytest.mark.parametrize("given", SETS.values(), ids=SETS)
def test_kubernetes_takes_every_object(given: tuple[object, ...]) -> None:
    for each in rendered(*given):
        if (schema := CUSTOM.get(each["kind"])) is not None:
            version = {"const": VERSIONS.get(each["kind"], "keda.sh/v1alpha1")}
            whole = closed({"apiVersion": version, "kind": TEXT, "metadata": METADATA, "spec": schema})
            jsonschema.validate(each, whole)
        else:
            kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("given", SETS.values(), ids=SETS)
def test_names_are_those_that_kubernetes_takes_and_each_is_there_once(given: tuple[object, ...]) -> None:
    named = [(each["kind"], each["metadata"]["name"]) for each in rendered(*given)]
    assert len(named) == len(set(named))
    assert all(len(name) <= 63 for _, name in named)
    assert {each["metadata"]["namespace"] for each in rendered(*given)} == {"video"}


@pytest.mark.parametrize("given", SETS.values(), ids=SETS)
def test_our_commands_take_what_the_chart_gives_them(given: tuple[object, ...]) -> None:
    for _, pod in pods(*given):
        accepted(pod["spec"]["containers"][0]["args"])


def test_the_queries_of_the_tests_are_valid(tmp_path: Path) -> None:
    for file, text in of("ConfigMap", *ALL)["sluice-queries"]["data"].items():
        (tmp_path / file).write_text(text)
        load_query(tmp_path / file)


@pytest.mark.parametrize("given", SETS.values(), ids=SETS)
def test_pods_are_confined(given: tuple[object, ...]) -> None:
    for name, pod in pods(*given):
        spec = pod["spec"]
        (container,) = spec["containers"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
        results = {"/job-results"} if "--job-results" in container["args"] else set()
        assert writable == {"/tmp", "/var/lib/sluice"} | results
        assert {mount["name"] for mount in container["volumeMounts"]} == {each["name"] for each in spec["volumes"]}


def test_a_network_is_quantised_in_what_a_pod_may_write_for_the_moment() -> None:
    largest = max(build.size_bytes for model in public_models().values() for build in model.builds)
    for name, pod in pods(*ALL):
        (room,) = (each["emptyDir"] for each in pod["spec"]["volumes"] if each["name"] == "tmp")
        assert "medium" not in room, f"{name}: it would take of the memory"
        assert int(room["sizeLimit"].removesuffix("Gi")) << 30 > 3 * largest


def test_secrets_are_named_and_never_written() -> None:
    """What a values file cannot say cannot be written into an object."""
    for _, pod in pods(*ALL):
        for variable in pod["spec"]["containers"][0]["env"]:
            secret = any(word in variable["name"] for word in ("SECRET", "PASSWORD", "USERNAME", "TOKEN"))
            assert ("valueFrom" in variable) == secret, variable["name"]
    assert not of("Secret", *ALL)
    for wrong in (
        "broker.password=x",
        "worker.env.API_TOKEN=x",
        "broker.url=kafka://user:pass@host:1",
        "accessSecret=",
    ):
        assert render(*FEW, "--set", wrong).returncode != 0, wrong


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((), "name at least one query file"),
        ((*FEW, "--set", "wroker.replicas=3"), "wroker"),
        ((*FEW, "--set", "worker.replicas=many"), "worker"),
        ((*FEW, "--set-json", 'backends=[{"name": "GPU", "resources": {}}]'), "backends"),
        ((*FEW, "--set", "broker.securityProtocol=SASL_SSL"), "SASL needs a Secret"),
        ((*FEW, "--set", "adapt.queries={other.yaml}"), "there is no query other.yaml"),
        ((*FEW, "--set-string", rf"queries.paid\.yaml={PAID}"), "queries paid.yaml: name a storageClaim"),
        ((*FEW, "--set-string", r"queries.bad\.yaml=streams: ["), "queries bad.yaml: error converting YAML"),
        ((*FEW, "--set-string", r"queries.bad\.yaml=- a"), "queries bad.yaml: error"),
        ((*FEW, "--set-string", r"queries.a_b\.yaml=name: a,queries.a-b\.yaml=name: b"), "called as those of a-b.yaml"),
        ((*FEW, "--set", "serve.query=other.yaml"), "serve.query: there is no query other.yaml"),
        ((*FEW, "--set", "schedule.enabled=true,schedule.machines=a: ["), "schedule.machines: error converting YAML"),
        ((*FEW, "--set", "broker.secret=login"), "broker.secret: broker.securityProtocol is not SASL"),
        ((*FEW, "--set", "broker.caSecret=ca,broker.secret=login,broker.securityProtocol=SASL_PLAINTEXT"), "caSecret"),
        (
            (*FEW, "--set", "worker.autoscaling.enabled=true,worker.autoscaling.min=5,worker.autoscaling.max=9"),
            "at least 5",
        ),
        ((*FEW, "--set", "worker.resources.limits.memory=2GB"), "memory"),
        ((*FEW, "--set", "image.tag=a b"), "image.tag"),
        (
            (*FEW, "--set-json", 'backends=[{"name":"a","resources":{}},{"name":"a","resources":{}}]'),
            "two are called a",
        ),
        (
            (
                *FEW,
                "--set-json",
                'backends=[{"name":"a","resources":{},"autoscaling":{"enabled":true,"min":1,"max":2}}]',
            ),
            "needs schedule.enabled",
        ),
    ],
)
def test_wrong_values_are_refused_in_words(wrong: tuple[str, ...], said: str) -> None:
    done = render(*wrong)
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.parametrize(
    "url", ["a:99999", "a:0", "a:", ":9092", "a:9092/", "a:9092,", "a b:1", "a:x", "[fd00::1:9092", "a,b:70000", "ä:1"]
)
def test_a_broker_that_commands_refuse_is_refused(url: str) -> None:
    value = f"kafka://{url}".replace(",", r"\,")
    done = render(*FEW, "--set", f"networkPolicy.enabled=false,broker.url={value}")
    assert done.returncode != 0
    assert "broker.url" in done.stderr
    if not url.endswith("/"):  # which commands pass over
        with pytest.raises(BadInput):
            parse_servers(f"kafka://{url}")


VALUES: dict[str, tuple[Callable[[dict[str, str]], object], str]] = {
    "SLUICE_MODEL_MEMORY": (model_memory, "2GiB 512 MiB|1.5GiB|0GiB|2GB|-1GiB|much"),
    "SLUICE_DECODED_MEMORY": (decoded_memory, "2GiB|0MiB|2"),
    "SLUICE_MODEL_TIMEOUT": (model_timeout_s, "60|0.5|60 s|0|0.0s|never|-1|1234567"),
    "SLUICE_DEVICE": (device, "auto|cpu|cuda|cuda:1|gpu|cuda:|CUDA"),
    "SLUICE_HWACCEL": (hwaccel, "none|auto|cuda|gpu"),
    "SLUICE_MAX_STREAMS": (stream_bounds, "1|1000|0|-1|1.5|many"),
    "SLUICE_SILENT_STREAM_S": (stream_bounds, "1|1.5|0|x"),
    "SLUICE_STALLED_END_S": (stalled_end_s, "300|never|0|ever"),
    "SLUICE_METRICS_STREAMS": (metrics_streams, "1|200|0|1.5"),
}


@pytest.mark.parametrize("name", VALUES)
def test_variables_are_refused_as_commands_refuse_them(name: str) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    read, texts = VALUES[name]
    for text in ["", *texts.split("|")]:
        try:
            read({name: text})
            right = True
        except BadInput:
            right = False
        values = {"worker": {"env": {name: text}}}
        assert jsonschema.Draft7Validator(schema).is_valid(values) == right, f"{name}={text}"


def test_variables_that_nobody_reads_or_that_the_chart_sets_are_refused() -> None:
    for wrong in ("SLUICE_DEVIC", "SLUICE_BROKER", "SLUICE_CACHE", "XDG_DATA_HOME", "SLUICE_KAFKA_SECURITY_PROTOCOL"):
        done = render(*FEW, "--set-string", f"capture.env.{wrong}=cpu")
        assert wrong in done.stderr, wrong
        assert done.returncode != 0
    assert rendered(*FEW, "--set-string", "capture.env.CAMERA=1,worker.env.SLUICE_DEVICE=cuda")


def test_a_budget_is_taken_where_its_spending_is_kept() -> None:
    assert rendered(*FEW, "--set-string", rf"queries.paid\.yaml={PAID},storageClaim=sluice")
    assert rendered(*FEW, "--set-string", r"queries.paid\.yaml=name: free # per_day: 5 EUR")


def test_brokers_without_a_port_have_kafkas() -> None:
    url = r"broker.url=kafka://one\,[fd00::1]:9094\,[fd00::2],worker.autoscaling.enabled=true"
    (trigger,) = of("ScaledObject", *FEW, "--set", url)["sluice-worker"]["spec"]["triggers"]
    assert trigger["metadata"]["bootstrapServers"] == "one:9092,[fd00::1]:9094,[fd00::2]:9092"


def test_whoever_answers_is_asked_whether_it_is_well_and_given_time_to_end() -> None:
    for name, each in of("Deployment", *ALL).items():
        spec = each["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}, name
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
        assert f"0.0.0.0:{ports['http']}" in container["args"]
        drain = 30 if "backend" in name else 0
        assert spec["terminationGracePeriodSeconds"] >= max(40, drain + 15)
    assert len(of("PodDisruptionBudget", *ALL)) == len(of("Deployment", *ALL))


def test_backends_scale_by_what_the_scheduler_wants_and_workers_by_what_waits() -> None:
    backend, worker = (of("ScaledObject", *ALL)[name]["spec"] for name in ("sluice-backend-nvidia", "sluice-worker"))
    deployments, services = of("Deployment", *ALL), of("Service", *ALL)
    for scaled in (backend, worker):
        assert "replicas" not in deployments[scaled["scaleTargetRef"]["name"]]["spec"], "who scales says how many"
    url = backend["triggers"][0]["metadata"]["url"]
    (port,) = services["sluice-schedule"]["spec"]["ports"]
    where = f"http://sluice-schedule.video.svc:{port['port']}/wanted/backends"
    assert url == f"{where}?kind=nvidia&tolerance=0.1"
    args = deployments["sluice-backend-nvidia"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("--device") + 1] == "nvidia", "the kind that the scheduler counts"
    assert backend["triggers"][0]["authenticationRef"]["name"] in of("TriggerAuthentication", *ALL)
    assert worker["maxReplicaCount"] == 4, "never more than partitions"
    assert worker["triggers"][0]["metadata"]["consumerGroup"] == "site.yard"
    assert worker["triggers"][0]["metadata"]["topic"] == "site.frames.v1"
    assert services["sluice-backend-nvidia"]["spec"]["clusterIP"] == "None", "clients choose among all of them"


def test_a_change_of_a_file_starts_anew_those_that_have_read_it() -> None:
    def templates(*given: object) -> dict[str, Thing]:
        made = of("Deployment", *SEVERAL, "--set", "schedule.enabled=true,serve.query=yard.yaml", *given)
        return {name.removeprefix("sluice-"): each["spec"]["template"] for name, each in made.items()}

    def anew(*given: object) -> set[str]:
        now, was = templates(*given), templates()
        return {name for name in now if now[name] != was[name]}

    assert anew("--set-file", rf"queries.yard\.yaml={ROOT}/examples/street.yaml") == {"capture-yard", "serve"}
    assert anew("--set-string", "schedule.machines=machines: {}") == {"schedule"}
    assert (
        templates("--set-string", "schedule.machines=a: 1")["schedule"]
        != templates("--set-string", "schedule.machines=b: 1")["schedule"]
    )


def test_all_parts_use_the_topics_that_a_query_names(tmp_path: Path) -> None:
    fleet = tmp_path / "values.yaml"
    fleet.write_text(ALL[1].read_text().replace("prefix: site.\n", "").replace("name: yard\n", SITE))
    for name, pod in pods("--values", fleet):
        if "topics" not in name:  # they are made as the query says
            args = pod["spec"]["containers"][0]["args"]
            assert args[args.index("--prefix") + 1] == "yards.", name
    trigger = of("ScaledObject", "--values", fleet)["sluice-worker"]["spec"]["triggers"][0]["metadata"]
    assert (trigger["topic"], trigger["consumerGroup"]) == ("yards.frames.v1", "yards.yard")
    assert not any("--prefix" in pod["spec"]["containers"][0]["args"] for _, pod in pods(*FEW))


def test_a_query_that_lists_no_streams_has_no_capture() -> None:
    more = ("--set-string", r"queries.all\.yaml=name: all", "--set-string", r"queries.elsewhere\.yaml=")
    captures = {name for name in of("Deployment", *FEW, *more) if "capture" in name}
    assert captures == {"sluice-capture-yard", "sluice-capture-elsewhere"}, "a text that is elsewhere may list some"


def test_a_part_of_which_none_shall_run_has_none() -> None:
    none = of("Deployment", *FEW, "--set", "worker.replicas=0")["sluice-worker"]["spec"]["replicas"]
    assert (none, of("Deployment", *FEW)["sluice-capture-yard"]["spec"]["replicas"]) == (0, 1)


def test_services_budgets_and_policies_find_their_pods() -> None:
    labels = [pod["metadata"]["labels"] for _, pod in pods(*ALL)]

    def found(wanted: dict[str, str]) -> int:
        return sum(wanted.items() <= each.items() for each in labels)

    for each in of("Service", *ALL).values():
        assert found(each["spec"]["selector"]) == 1
    for kind in ("PodDisruptionBudget", "Deployment"):
        assert {found(each["spec"]["selector"]["matchLabels"]) for each in of(kind, *ALL).values()} == {1}
    policies = of("NetworkPolicy", *ALL).values()
    assert {found(each["spec"]["podSelector"]["matchLabels"]) for each in policies} == {1, 2}  # two kinds of backends
    covered = [each["spec"]["podSelector"]["matchLabels"].items() for each in policies]
    assert all(any(wanted <= each.items() for wanted in covered) for each in labels)


def test_what_is_scraped_has_the_job_that_alerts_ask_for() -> None:
    (monitor,) = of("PodMonitor", *ALL).values()
    alerts = (ROOT / "deploy" / "alerts.yml").read_text()
    jobs = {pod["metadata"]["labels"][monitor["spec"]["jobLabel"]] for _, pod in pods(*ALL)}
    assert jobs == set(re.findall(r'job="(\w+)"', alerts)) == {"sluice"}


def test_who_may_speak_to_whom() -> None:
    policies = of("NetworkPolicy", *ALL)
    incoming = {
        name.removeprefix("sluice-"): {port["port"] for rule in each["spec"]["ingress"] or () for port in rule["ports"]}
        for name, each in policies.items()
    }
    outgoing = {
        name.removeprefix("sluice-"): {port["port"] for rule in each["spec"]["egress"] for port in rule["ports"]}
        for name, each in policies.items()
    }
    assert incoming == {
        **{name: {8470} for name in ("capture", "worker", "adapt", "serve", "forward")},
        "backend": {8000, 8001},
        "schedule": {8471},
        "topics": set(),
    }
    assert outgoing["backend"] == outgoing["serve"] == outgoing["topics"] == {53, 9093}, "the broker's"
    assert outgoing["worker"] == {53, 9093, 8001, 443}
    assert outgoing["capture"] == {53, 9093, 554, 8554, 322, 80, 443}
    somewhere = of(
        "NetworkPolicy", *FEW, "--set", r"broker.url=kafka://[fd00::1]:9094\,kafka,networkPolicy.brokerPorts={9095}"
    )
    (rule,) = somewhere["sluice-topics"]["spec"]["egress"][1:]
    assert [port["port"] for port in rule["ports"]] == [9094, 9092, 9095], "of each address, and those that are told"


def test_workers_do_jobs_where_an_archive_is_named() -> None:
    (worker,) = (pod["spec"] for name, pod in pods(*ALL) if name == "sluice-worker")
    (container,) = worker["containers"]
    args = container["args"]
    mounts = {each["name"]: each for each in container["volumeMounts"]}
    claims = {
        each["name"]: each["persistentVolumeClaim"] for each in worker["volumes"] if "persistentVolumeClaim" in each
    }
    archive, results = mounts["archive"], mounts["job-results"]
    assert args[args.index("--archive") + 1] == archive["mountPath"]
    assert args[args.index("--job-results") + 1] == results["mountPath"]
    assert (archive["readOnly"], results.get("readOnly")) == (True, None)
    assert claims["archive"] == {"claimName": "recordings", "readOnly": True}
    assert claims["job-results"] == {"claimName": "job-results"}
    for name, pod in pods(*FEW):
        assert "--archive" not in pod["spec"]["containers"][0]["args"], name
    done = render(*FEW, "--set", "worker.archive.claim=recordings")
    assert done.returncode != 0
    assert "jobs need worker.archive.resultsClaim" in done.stderr


def test_one_query_more_restarts_no_worker() -> None:
    several, more = (of("Deployment", *given)["sluice-worker"] for given in (SEVERAL, (*SEVERAL, *third())))
    assert several == more
    assert "sluice-capture-third" in of("Deployment", *SEVERAL, *third())


def third() -> tuple[str, str]:
    return "--set-file", rf"queries.third\.yaml={ROOT}/examples/vehicles.yaml"


def test_the_documented_values_are_the_ones_that_there_are() -> None:
    """Every key of the schema has its line in values.yaml, and its default keeps to the schema."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.validate(values, schema)
    for name, part in schema["properties"].items():
        assert name in values
        if part.get("properties"):
            assert set(part["properties"]) == set(values[name]), name
