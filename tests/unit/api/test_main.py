"""The whole process: it starts with good settings, and a bad one is one line that says which, and what to do."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from guildhall_api import __main__ as program
from guildhall_api.app import POLICY_FILE
from guildhall_api.config import StartError, load
from guildhall_api.console import FILE_MAX_BYTES

Wire = dict[str, Any]
SECRET = "correct-horse"


def _kubeconfig(**changes: Any) -> Wire:
    return {
        "current-context": "stub", "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
        "clusters": [{"name": "stub", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "stub", "user": {"token": "t"}}],
    } | changes  # fmt: skip


class Place:
    """A folder with all that the process needs; a test spoils one thing of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.console = folder / "console"
        self.console.mkdir()
        (self.console / "index.html").write_text("<!doctype html>")
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump(_kubeconfig()))
        self.config: Wire = {
            "namespace": "guildhall", "runNamespaces": ["team"], "gateway": {"url": "http://127.0.0.1:9"}, "port": 0,
            "listen": "127.0.0.1", "databaseUrl": f"sqlite:///{folder}/api.db", "signIn": {"mode": "none"},
            "consoleDir": str(self.console),
        }  # fmt: skip
        self.environment = {
            "GUILDHALL_CONFIG": str(folder / "config.json"), "KUBECONFIG": str(self.kubeconfig),
            "PATH": os.environ["PATH"],
        }  # fmt: skip
        if "PYTHONPATH" in os.environ:
            self.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def write(self) -> None:
        (self.folder / "config.json").write_text(json.dumps(self.config))

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "guildhall_api"], env=self.environment, stderr=subprocess.PIPE, text=True
        )

    def ends(self) -> tuple[int, list[str]]:
        """The exit code, and the lines it wrote. Fails if it goes on for a minute."""
        self.write()
        with self.start() as process:
            try:
                words = process.communicate(timeout=60)[1]
            finally:
                process.kill()
        assert SECRET not in words
        return process.returncode, words.splitlines()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _file(place: Place, name: str, text: str) -> str:
    path = place.folder / name
    path.write_text(text)
    return str(path)


def _outside_a_pod(place: Place) -> None:
    del place.environment["KUBECONFIG"]


def _missing_kubeconfig(place: Place) -> None:
    place.kubeconfig.unlink()


def _kubeconfig_of(text: str) -> Callable[[Place], None]:
    def spoil(place: Place) -> None:
        place.kubeconfig.write_text(text)

    return spoil


def _set(**changes: Any) -> Callable[[Place], None]:
    return lambda place: place.config.update(changes)


def _in_folder(**changes: str) -> Callable[[Place], None]:
    """`{}` in a value is the test's folder."""
    return lambda place: place.config.update({name: value.format(place.folder) for name, value in changes.items()})


def _proxy(text: str | None) -> Callable[[Place], None]:
    def spoil(place: Place) -> None:
        secret = str(place.folder / "none") if text is None else _file(place, "secret", text)
        place.config["signIn"] = {"mode": "proxy", "secretFile": secret}

    return spoil


def _without_ca(place: Place) -> None:
    place.config["gateway"]["ca"] = str(place.folder / "none.crt")


def _no_index(place: Place) -> None:
    (place.console / "index.html").unlink()


def _large_console(place: Place) -> None:
    with (place.console / "large.js").open("wb") as file:
        file.truncate(FILE_MAX_BYTES + 1)


def _spoilt_policy(place: Place) -> None:
    path = place.console / POLICY_FILE[1:]
    path.parent.mkdir()
    path.write_text('{"tags": []}')


BAD_START: dict[str, tuple[Callable[[Place], Any], tuple[str, ...]]] = {
    "no kubeconfig": (_outside_a_pod, ("in no pod", "set KUBECONFIG to a kubeconfig")),
    "a kubeconfig that is not there": (_missing_kubeconfig, ("No such file", "kubeconfig", "set KUBECONFIG to")),
    "a kubeconfig without a context": (_kubeconfig_of("{}"), ("lacks 'current-context'", "set KUBECONFIG to")),
    "a kubeconfig of another kind": (_kubeconfig_of("- a\n- b: ["), ("is no kubeconfig", "set KUBECONFIG to")),
    "a kubeconfig that is a word": (_kubeconfig_of("hello"), ("is no kubeconfig", "set KUBECONFIG to")),
    "a context that names no cluster": (
        _kubeconfig_of(yaml.safe_dump(_kubeconfig(clusters=[]))), ("no clusters entry 'stub'", "set KUBECONFIG to")
    ),
    "a CA that is none": (
        _kubeconfig_of(yaml.safe_dump(_kubeconfig(
            clusters=[{"name": "stub", "cluster": {"server": "https://x", "certificate-authority-data": "eA=="}}]
        ))), ("kubeconfig", "cannot be used", "set KUBECONFIG to"),
    ),
    "no database URL": (_set(databaseUrl="nonsense"), ("databaseUrl", "set it to sqlite:")),
    "a database of another kind": (_set(databaseUrl=f"mysql://u:{SECRET}@h/x"), ("databaseUrl", "set it to sqlite:")),
    "a database URL whose password is not escaped": (
        _set(databaseUrl=f"postgresql://u:{SECRET}"), ("databaseUrl", "set it to sqlite:")
    ),
    "a database nobody can write": (
        _in_folder(databaseUrl="sqlite:///{}/none/api.db"),
        ("/none/api.db", "unable to open database file", "set databaseUrl"),
    ),
    "a file that is no database": (
        _in_folder(databaseUrl="sqlite:///{}/kubeconfig"), ("kubeconfig", "not a database", "set databaseUrl")
    ),
    "a database that does not answer": (
        _set(databaseUrl=f"postgresql://u:{SECRET}@127.0.0.1:9/x"),
        ("postgresql://127.0.0.1:9/x", "Connect call failed", "set databaseUrl"),
    ),
    "a database asked in words it does not know": (
        _set(databaseUrl="postgresql://127.0.0.1:9/x?sslmode=1"),
        ("postgresql://127.0.0.1:9/x", "sslmode", "set databaseUrl"),
    ),
    "an empty proxy secret": (_proxy(" \n"), ("signIn.secretFile", "is empty", "X-Guildhall-Proxy-Secret")),
    "a proxy secret that is not there": (_proxy(None), ("signIn.secretFile", "No such file", "write what the proxy")),
    "a CA of the gateway that is not there": (_without_ca, ("gateway.ca", "No such file", "name a file")),
    "no console": (_in_folder(consoleDir="{}/none"), ("consoleDir", "none has no index.html", "set it to")),
    "a console without its page": (_no_index, ("consoleDir", "has no index.html", "set it to")),
    "a file no console has": (_large_console, ("large.js is too large", "set consoleDir")),
    "a policy that is none": (_spoilt_policy, ("markdown-policy.json", "consoleDir", "of this version")),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_START)
async def test_what_keeps_it_from_starting_is_told_in_one_line(
    place: Place, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    spoil, words = BAD_START[case]
    spoil(place)
    place.write()
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    async with asyncio.timeout(30):
        with pytest.raises(StartError) as raised:
            await program.serve(load())
        await asyncio.sleep(0.2)  # aiosqlite's thread tells this loop of its end after a connection that failed
    told = str(raised.value)
    assert raised.value.exit_code == 1
    assert "\n" not in told
    assert SECRET not in told
    for word in words:
        assert word in told


@pytest.mark.parametrize(
    "case",
    [
        "no kubeconfig", "no database URL", "a database nobody can write", "an empty proxy secret", "no console",
    ],
)  # fmt: skip
def test_the_process_ends_with_that_line_and_nothing_else(place: Place, case: str) -> None:
    spoil, words = BAD_START[case]
    spoil(place)
    code, lines = place.ends()
    assert (code, len(lines)) == (1, 1), lines
    assert "ERROR guildhall_api: " in lines[0]
    for word in words:
        assert word in lines[0]


def test_a_configuration_file_that_is_not_there_has_a_code_of_its_own(place: Place) -> None:
    place.environment["GUILDHALL_CONFIG"] = str(place.folder / "none.json")
    code, lines = place.ends()
    assert (code, len(lines)) == (2, 1), lines
    assert "none.json cannot be read: No such file" in lines[0]
    assert "set GUILDHALL_CONFIG" in lines[0]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{", "all of it"),
        ("7", "all of it"),
        ('{"surprise": 1}', "surprise"),
        ('{"port": 99999}', "port"),
        ('{"signIn": {"mode": "proxy"}}', "signIn"),
        (json.dumps({"databaseUrl": [SECRET]}), "databaseUrl"),
    ],
)
def test_a_bad_configuration_names_its_field_and_repeats_nothing_of_it(place: Place, text: str, field: str) -> None:
    path = place.folder / "other.json"
    path.write_text(text if field == "all of it" else json.dumps(place.config | json.loads(text)))
    with pytest.raises(StartError) as raised:
        load(str(path))
    assert raised.value.exit_code == 2
    assert f"{path} cannot be used: field '{field}': " in str(raised.value)
    assert SECRET not in str(raised.value)
    path.write_text(json.dumps(place.config))
    assert load(str(path)).namespace == "guildhall", "control"


def test_a_port_that_is_taken_is_named(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place.config["port"] = taken.getsockname()[1]
        code, lines = place.ends()
    assert code == 1
    assert f"cannot serve on 127.0.0.1, port {place.config['port']}" in lines[-1]
    assert any("address already in use" in line for line in lines)
    assert not any("Traceback" in line for line in lines)


def test_with_good_settings_it_serves_until_it_is_told_to_stop(place: Place) -> None:
    """Control: nothing but what a test spoils keeps it from starting; a cluster that is away is waited for."""
    place.write()
    with place.start() as process:
        assert process.stderr is not None
        for line in process.stderr:
            assert "ERROR" not in line
            if "Uvicorn running on" in line:
                break
        process.terminate()
        rest = process.communicate(timeout=60)[1]
    assert process.returncode == 0, rest
