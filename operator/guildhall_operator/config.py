"""The operator's settings: one closed file, checked whole at start, so that a typo cannot silently loosen anything."""

import json
import os
from pathlib import Path
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.base import Name, Record, first_problem
from guildhall_contracts.fetch import Scheme
from guildhall_contracts.gate import Host, Port, Target
from guildhall_contracts.run import Quantity
from pydantic import Field, ValidationError

DEFAULT_PATH: Final = "/etc/guildhall/config.json"
OWN_TARGETS_COUNT: Final = (
    5  # the gate tries these unasked: canary and API server of two families, and the pod's own node
)


class ConfigError(Exception):
    """The platform team must correct the operator's configuration; the message names file and field."""


class Gateway(Record):
    """Where run pods find the gateway. `clusterIp` saves the DNS question (used where the operator runs outside)."""

    service: Host
    port: Port = 443
    canary_port: Port = 8444
    pod_port: Port = 8443  # what the Service forwards to: NetworkPolicies see this one
    cluster_ip: Host | None = None


class Images(Record):
    """Images of the run pod; `default` is the workshop's where a Run names none."""

    executor: str = Field(min_length=1, max_length=limits.IMAGE_MAX_CHARS)
    workshop: str = Field(min_length=1, max_length=limits.IMAGE_MAX_CHARS)
    default: str = Field(min_length=1, max_length=limits.IMAGE_MAX_CHARS)
    pull_policy: str = Field("IfNotPresent", pattern=r"^(Always|IfNotPresent|Never)$")


class Isolation(Record):
    """What the gate tries. `require: false` lets Runs start on a cluster that does not enforce policies."""

    require: bool = True
    targets: list[Target] = Field(default_factory=list, max_length=limits.GATE_TARGETS_MAX_COUNT - OWN_TARGETS_COUNT)
    own_node_port: Port | None = None
    consecutive_denials: int = Field(limits.GATE_CONSECUTIVE_DENIALS_COUNT, ge=1, le=20)
    timeout_seconds: int = Field(limits.GATE_TIMEOUT_SECONDS, ge=1, le=600)
    recheck_seconds: int = Field(limits.GATE_RECHECK_SECONDS, ge=1, le=600)


class StorageConfig(Record):
    class_: Name | None = Field(None, alias="class")
    journal_size: Quantity = "1Gi"


class ExecutorResources(Record):
    cpu: Quantity = "1"
    memory: Quantity = "512Mi"


class FetcherResources(Record):
    cpu: Quantity = "1"
    memory: Quantity = "1Gi"


class Proxy(Record):
    """How the fetcher reaches https:// where there is no direct way. No password: this stands in the pod."""

    https_proxy: str = Field("", max_length=limits.URL_MAX_CHARS, pattern=r"^(https?://[A-Za-z0-9.:\[\]-]+/?)?$")
    no_proxy: str = Field("", max_length=limits.URL_MAX_CHARS, pattern=r"^[!-~]*$")


def _safe_schemes() -> list[Scheme]:
    return ["https", "ssh"]


class Fetcher(Record):
    """The pod that gets git repositories, and what it may."""

    image: str = Field(min_length=1, max_length=limits.IMAGE_MAX_CHARS)
    schemes: list[Scheme] = Field(default_factory=_safe_schemes, min_length=1, max_length=3)
    timeout_seconds: int = Field(limits.FETCH_TIMEOUT_SECONDS, ge=1, le=limits.FETCH_TIMEOUT_MAX_SECONDS)
    network_policy: Name = "guildhall-fetch"
    service_account: Name = "guildhall-fetch"
    ca_config_map: Name | None = None
    proxy: Proxy = Proxy()
    resources: FetcherResources = FetcherResources()

    @property
    def proxy_environment(self) -> dict[str, str]:
        found = {"HTTPS_PROXY": self.proxy.https_proxy, "NO_PROXY": self.proxy.no_proxy}
        return {name: value for name, value in found.items() if value}


class Waits(Record):
    """How long a pod that cannot start is waited for before its Run ends with the reason."""

    guild_seconds: int = Field(10, ge=0, le=600)
    policy_seconds: int = Field(60, ge=0, le=3_600)
    canary_seconds: int = Field(60, ge=0, le=3_600)
    claim_seconds: int = Field(30, ge=0, le=3_600)
    image_pull_seconds: int = Field(45, ge=0, le=3_600)
    mount_seconds: int = Field(60, ge=0, le=3_600)
    refused_seconds: int = Field(30, ge=0, le=3_600)
    unschedulable_seconds: int = Field(600, ge=0, le=86_400)
    node_lost_seconds: int = Field(60, ge=0, le=3_600)
    replace_seconds: int = Field(600, ge=0, le=86_400)
    cancel_grace_seconds: int = Field(limits.LINGER_MAX_SECONDS + 5, ge=0, le=600)


class Config(Record):
    """`config.json` of the operator; the chart writes it."""

    namespace: Name
    run_namespaces: list[Name] = Field(min_length=1, max_length=500)
    gateway: Gateway
    images: Images
    run_service_account: Name = "guildhall-run"
    ca_config_map: Name = "guildhall-gateway-ca"
    network_policy: Name = "guildhall-run"
    isolation: Isolation = Isolation()
    max_concurrent_runs: int = Field(10, ge=1, le=10_000)
    runtime_classes: list[Name] = Field(default_factory=list, max_length=50)
    priorities: list[Name] = Field(default_factory=list, max_length=50)
    storage: StorageConfig = StorageConfig()
    seal_wait_seconds: int = Field(limits.SEAL_WAIT_SECONDS, ge=0, le=3_600)
    ttl_seconds_after_finished: int | None = Field(None, ge=0, le=limits.TTL_MAX_SECONDS)
    executor_resources: ExecutorResources = ExecutorResources()
    fetcher: Fetcher | None = None  # None: no Run may name a git repository
    host_users: bool | None = None
    waits: Waits = Waits()
    attempts_max_count: int = Field(2, ge=1, le=limits.ATTEMPTS_MAX_COUNT)
    workers_count: int = Field(24, ge=1, le=64)
    port: Port = 8081
    api_server: Target | None = None  # where run pods would find it; by default the environment's KUBERNETES_SERVICE_*


def parse_config(text: str, where: str) -> Config:
    """The configuration in `text`. Raises ConfigError naming the field and `where`."""
    if len(text) > limits.OPERATOR_CONFIG_MAX_BYTES:
        raise ConfigError(f"{where} is larger than {limits.OPERATOR_CONFIG_MAX_BYTES} bytes")
    try:
        return Config.model_validate(json.loads(text))
    except ValidationError as error:
        field, words = first_problem(error)
        raise ConfigError(f"{where}: field '{field}': {words}; correct the chart's values") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON: {error}") from error


def load_config() -> Config:
    """Reads the file that `GUILDHALL_CONFIG` names. Raises ConfigError."""
    path = Path(os.environ.get("GUILDHALL_CONFIG", DEFAULT_PATH))
    try:
        return parse_config(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; set GUILDHALL_CONFIG to its path") from error
