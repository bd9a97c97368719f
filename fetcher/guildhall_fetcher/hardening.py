"""How git and ssh are started: every option and variable they get. Pure.

Guards against a repository, a server or a config file that makes git run a program, follow an address or open a file of
its choosing: no config is read but these options, and each way known to run something is shut by name.
"""

from collections.abc import Mapping
from typing import Final

from guildhall_contracts.fetch import GitUrl

from guildhall_fetcher.credentials import Credentials
from guildhall_fetcher.places import Places

NOTHING: Final = "/dev/null"

_NO_PROGRAMS: Final = {
    "core.hooksPath": NOTHING,
    "core.fsmonitor": "false",
    "core.alternateRefsCommand": "false",
    "core.attributesFile": NOTHING,
    "core.excludesFile": NOTHING,
    "core.pager": "cat",
    "core.editor": "false",
    "credential.helper": "",
    "diff.external": "",
    "gc.auto": "0",
    "gpg.program": "false",
    "init.templateDir": "",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "transfer.bundleURI": "false",
}
_SOUND_OBJECTS: Final = {
    "transfer.fsckObjects": "true",
    "fetch.fsckObjects": "true",
    "fetch.unpackLimit": "1",  # a pack stays one: index-pack is what checks, in bounded memory
    "core.protectNTFS": "true",
    "core.protectHFS": "true",
    "core.symlinks": "true",
    "core.autocrlf": "false",
    "core.eol": "lf",
    **{
        # Old and harmless faults that well-known histories carry.
        f"fetch.fsck.{name}": "ignore"
        for name in (
            "badDate",
            "badDateOverflow",
            "badEmail",
            "badName",
            "badTagName",
            "badTimezone",
            "missingEmail",
            "missingSpaceBeforeDate",
            "missingSpaceBeforeEmail",
            "missingTaggerEntry",
            "zeroPaddedDate",
            "zeroPaddedFilemode",
        )
    },
}
_BOUNDED: Final = {
    "core.bigFileThreshold": "16m",
    "core.deltaBaseCacheLimit": "32m",
    "core.packedGitWindowSize": "16m",
    "core.packedGitLimit": "128m",
    "pack.threads": "2",
    "checkout.workers": "1",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
}
_HTTP: Final = {
    "http.followRedirects": "false",
    "http.sslVerify": "true",
    "http.sslVersion": "tlsv1.2",
    "http.cookieFile": "",
    "http.emptyAuth": "false",
    "http.delegation": "none",
    "http.postBuffer": "16m",  # a patch's pack in one piece: some servers take no chunks
}
_NO_MORE_THAN_THE_BRANCH: Final = {
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
    "push.followTags": "false",
    "push.recurseSubmodules": "no",
    "push.autoSetupRemote": "false",
}
_SSH: Final = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "GlobalKnownHostsFile": NOTHING,
    "UpdateHostKeys": "no",
    "IdentitiesOnly": "yes",
    "IdentityAgent": "none",
    "PasswordAuthentication": "no",
    "KbdInteractiveAuthentication": "no",
    "PermitLocalCommand": "no",
    "ProxyCommand": "none",
    "ProxyJump": "none",
    "ControlMaster": "no",
    "ControlPath": "none",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "ClearAllForwardings": "yes",
    "CanonicalizeHostname": "no",
    "ConnectTimeout": "10",
    "ServerAliveInterval": "15",
    "ServerAliveCountMax": "3",
    "LogLevel": "ERROR",
}


def ssh_command(places: Places) -> str:
    """What git starts for ssh://: no config file, one key, one list of known hosts."""
    words = ["ssh", "-F", "none", "-T"]
    own = {"IdentityFile": str(places.key_copy), "UserKnownHostsFile": str(places.known_hosts_copy)}
    for name, value in {**_SSH, **own}.items():
        words += ["-o", f"{name}={value}"]
    return " ".join(words)  # fixed words and paths of our own: nothing in it needs quoting


def options(url: GitUrl, places: Places) -> list[str]:
    """The `-c` words before every git command. Only the address's own protocol is allowed."""
    chosen = {
        **_NO_PROGRAMS,
        **_SOUND_OBJECTS,
        **_BOUNDED,
        **_HTTP,
        **_NO_MORE_THAN_THE_BRANCH,
        "core.askPass": str(places.askpass),
        "core.sshCommand": ssh_command(places),
        "http.sslCAInfo": str(places.ca_bundle),
        "protocol.allow": "never",
        f"protocol.{url.scheme}.allow": "always",
    }
    return [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]


def environment(
    url: GitUrl, places: Places, credentials: Credentials | None, proxies: Mapping[str, str], *, bare: bool = False
) -> dict[str, str]:
    """All of git's environment; the askpass program gets the way to the Secret, never what is in it."""
    found = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(places.scratch),
        "LC_ALL": "C",
        "MALLOC_ARENA_MAX": "2",
        "GIT_DIR": str(places.staging / ".git"),
        "GIT_WORK_TREE": str(places.staging),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": NOTHING,
        "GIT_CONFIG_GLOBAL": NOTHING,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": url.scheme,
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_SSH_VARIANT": "ssh",
        "GIT_ASKPASS": str(places.askpass),
        **proxies,
    }
    if credentials is not None and credentials.for_https:
        found["GUILDHALL_ASKPASS_FOLDER"] = str(places.secret)
        found["GUILDHALL_ASKPASS_PLACE"] = f"{url.host} {url.port}"
    if bare:
        del found["GIT_WORK_TREE"]
    return found
