"""What the gateway is told at start: one closed record, read once from `config.json`."""

import os
from pathlib import Path
from typing import Annotated, Final

from guildhall_contracts.base import Record, first_problem
from guildhall_contracts.model_api import TOKEN_AUDIENCE
from pydantic import Field, StringConstraints, ValidationError

CONFIG_PATH: Final = "/etc/guildhall/config.json"
CONFIG_MAX_BYTES: Final = 256 * 1024

Namespace = Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
Pattern = Annotated[str, StringConstraints(min_length=3, max_length=160, pattern=r"^[a-z0-9*-]+:[A-Za-z0-9._:/@*-]+$")]
ProviderName = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[a-z0-9-]+$")]
Url = Annotated[str, StringConstraints(min_length=8, max_length=512, pattern=r"^https?://[^\s]+$")]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=1_024)]


class Models(Record):
    """Which gateway models may be called, as shell-style patterns; an empty list allows none.

    `whole_replies`: providers that are asked without streaming.
    """

    allow: list[Pattern] = Field(default_factory=lambda: ["scripted:*"], max_length=64)
    whole_replies: list[ProviderName] = Field(default_factory=list, max_length=32)


class Tls(Record):
    cert: FilePath = "/etc/guildhall/tls/tls.crt"
    key: FilePath = "/etc/guildhall/tls/tls.key"


class Budgets(Record):
    """Limits over all Runs of one namespace, and over everything, for each UTC day. Absent: no limit."""

    namespace_per_day_micro_usd: int | None = Field(None, ge=0)
    day_micro_usd: int | None = Field(None, ge=0)


class Connections(Record):
    """Origins (`https://host[:port]`) Connections may name; none by default. Private addresses are allowed there."""

    allow: list[Url] = Field(default_factory=list, max_length=64)


class Ports(Record):
    """`https` serves executors and the api; `canary` must be out of reach for run pods; `health` is plain HTTP."""

    https: int = Field(8443, ge=0, le=65_535)
    canary: int = Field(8444, ge=0, le=65_535)
    health: int = Field(8081, ge=0, le=65_535)


class Config(Record):
    """`docs/wiring.md` lists the fields; the chart writes them."""

    namespace: Namespace
    run_namespaces: list[Namespace] = Field(min_length=1, max_length=256)
    models: Models = Models()
    scenarios_dir: FilePath = "/etc/guildhall/scenarios"
    database_url: str = Field("sqlite:////var/lib/guildhall/gateway.db", max_length=1_024)
    blobs_dir: FilePath = "/var/lib/guildhall/blobs"
    tls: Tls | None = Tls()
    audience: str = Field(TOKEN_AUDIENCE, min_length=1, max_length=253)
    api_account: str = Field(min_length=1, max_length=320, pattern=r"^system:serviceaccount:[^:]+:[^:]+$")
    budgets: Budgets = Budgets()
    providers_dir: FilePath = "/run/secrets/guildhall"
    base_urls: dict[ProviderName, Url] = Field(default_factory=dict, max_length=32)
    connections: Connections = Connections()
    ports: Ports = Ports()
    retain_seconds: int = Field(90 * 86_400, ge=3_600, le=10 * 365 * 86_400)
    host: str = Field("", max_length=64)  # empty: every address, of each family there is


class ConfigError(Exception):
    """The configuration cannot be used; the message names the file and the field."""


def read_config(path: str | None = None) -> Config:
    """The Config at `path`, `GUILDHALL_CONFIG` or the fixed place. Raises ConfigError."""
    where = Path(path or os.environ.get("GUILDHALL_CONFIG", CONFIG_PATH))
    try:
        data = where.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {where}: {error.strerror}; set GUILDHALL_CONFIG to the file") from error
    if len(data) > CONFIG_MAX_BYTES:
        raise ConfigError(f"{where} is {len(data)} bytes; at most {CONFIG_MAX_BYTES} are read")
    try:
        return Config.model_validate_json(data)
    except ValidationError as error:
        field, words = first_problem(error)
        raise ConfigError(f"{where}: field '{field}': {words}") from error
