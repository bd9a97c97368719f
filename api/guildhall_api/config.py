"""What this process is told: the closed record behind `/etc/guildhall/config.json`."""

import os
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from guildhall_contracts.base import Record, first_problem
from pydantic import Field, ValidationError, model_validator

DEFAULT_PATH: Final = "/etc/guildhall/config.json"
CONFIG_EXIT_CODE: Final = 2  # of a bad configuration file; whatever else keeps the api from starting ends with 1
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})

Namespace = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
HostName = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9.\[\]-]+(:[0-9]{1,5}|:\*)?$")]


class StartError(Exception):
    """This process cannot start. The message is one line: what is wrong, which setting, what to do."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code


class Gateway(Record):
    """Where blobs and the ledger come from. `token` is a file with a projected token, read anew for each call."""

    url: str = Field(min_length=8, max_length=300, pattern=r"^https?://")
    ca: str | None = Field(None, max_length=4_096)
    token: str = Field("/var/run/secrets/guildhall/token", max_length=4_096)


class SignInMode(Record):
    """`proxy` trusts `userHeader` and `groupsHeader` of requests whose `secretHeader` equals the secret file."""

    mode: Literal["token", "proxy", "none"] = "token"
    audiences: list[str] = Field(default_factory=list, max_length=8)
    session_seconds: int = Field(3_600, ge=60, le=86_400)
    user_header: str = Field("X-Forwarded-User", max_length=100)
    groups_header: str = Field("X-Forwarded-Groups", max_length=100)
    secret_header: str = Field("X-Guildhall-Proxy-Secret", max_length=100)
    secret_file: str | None = Field(None, max_length=4_096)
    user: str = Field("local", min_length=1, max_length=256)

    @model_validator(mode="after")
    def _proxy_needs_its_secret(self) -> Self:
        if self.mode == "proxy" and not self.secret_file:
            raise ValueError("signIn.mode 'proxy' needs signIn.secretFile: without it anyone could name any user")
        return self


class Config(Record):
    """The api's configuration."""

    namespace: Namespace
    run_namespaces: list[Namespace] = Field(min_length=1, max_length=500)
    gateway: Gateway
    database_url: str = Field("sqlite:////var/lib/guildhall/api.db", min_length=1, max_length=2_048)
    console_dir: str = Field("/srv/console", max_length=4_096)
    hosts: list[HostName] = Field(default_factory=list, max_length=64)
    cookie_secure: bool = True
    sign_in: SignInMode = SignInMode()
    images: list[str] = Field(default_factory=list, max_length=64)
    isolation_required: bool = True
    listen: str = Field("0.0.0.0", max_length=64)  # noqa: S104
    port: int = Field(8080, ge=0, le=65_535)
    retain_seconds: int = Field(90 * 86_400, ge=3_600)
    private_retain_seconds: int = Field(3_600, ge=60)

    @model_validator(mode="after")
    def _open_only_on_loopback(self) -> Self:
        if self.sign_in.mode == "none" and self.listen not in _LOOPBACK:
            raise ValueError(
                f"signIn.mode 'none' lets everyone in who reaches {self.listen}; listen on 127.0.0.1, or sign people in"
            )
        return self


def load(path: str | None = None) -> Config:
    """The Config at `path`, `GUILDHALL_CONFIG` or the fixed place. Raises StartError with exit code 2."""
    where = path or os.environ.get("GUILDHALL_CONFIG", DEFAULT_PATH)
    try:
        return Config.model_validate_json(Path(where).read_bytes())
    except OSError as error:
        message = f"the configuration {where} cannot be read: {error.strerror}; set GUILDHALL_CONFIG to the file"
        raise StartError(message, CONFIG_EXIT_CODE) from error
    except ValidationError as error:
        field, words = first_problem(error)
        message = f"the configuration {where} cannot be used: field '{field or 'all of it'}': {words}"
        raise StartError(message, CONFIG_EXIT_CODE) from error
