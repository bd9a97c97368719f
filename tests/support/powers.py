"""System calls and sockets that would widen what a process may do or reach, tried with arguments that can do no harm.

Each is asked for in a child of its own. The arguments are such that who may make the call gets another error, or
success, but never EPERM: so EPERM is a refusal, and the same script run as root without confinement is the control.
"""

import errno
import json

REFUSED = errno.EPERM
# Tried everywhere, and allowed to root on any machine that runs the embedded cluster.
CORE = {
    "mount", "umount2", "pivot_root", "unshare-user", "unshare-net", "unshare-mount", "setns", "clone-user", "chroot",
    "open_by_handle_at", "bpf", "perf_event_open", "keyctl", "add_key", "request_key", "raw-icmp", "packet",
}  # fmt: skip

SCRIPT = r"""
import ctypes, json, os, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": dict(mount=165, umount2=166, pivot_root=155, unshare=272, setns=308, clone=56, chroot=161, bpf=321,
        open_by_handle_at=304, perf_event_open=298, keyctl=250, add_key=248, request_key=249, userfaultfd=323,
        io_uring_setup=425, fsopen=430, open_tree=428, move_mount=429, reboot=169, swapon=167, acct=163,
        sethostname=170, init_module=175, syslog=103, quotactl=179, settimeofday=164, getppid=110),
    "aarch64": dict(mount=40, umount2=39, pivot_root=41, unshare=97, setns=268, clone=220, chroot=51, bpf=280,
        open_by_handle_at=265, perf_event_open=241, keyctl=219, add_key=217, request_key=218, userfaultfd=282,
        io_uring_setup=425, fsopen=430, open_tree=428, move_mount=429, reboot=142, swapon=224, acct=89,
        sethostname=161, init_module=105, syslog=116, quotactl=60, settimeofday=170, getppid=173),
}[platform.machine()]
NOWHERE, BAD = b"/nonexistent-8c1f", 0xffffffffffffffff
USER, NET, MOUNT, CHILD = 0x10000000, 0x40000000, 0x20000, 17

def call(name, *arguments):
    def ask():
        ctypes.set_errno(0)
        wide = [ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments]
        if libc.syscall(ctypes.c_long(NUMBERS[name]), *wide) == -1:
            return ctypes.get_errno()
        return 0
    return ask

def opens(*kind):
    def ask():
        try:
            socket.socket(*kind).close()
        except OSError as error:
            return error.errno
        return 0
    return ask

WIDENING = {
    "mount": call("mount", b"none", NOWHERE, b"tmpfs", 0, 0),
    "umount2": call("umount2", NOWHERE, 0),
    "pivot_root": call("pivot_root", NOWHERE, NOWHERE),
    "unshare-user": call("unshare", USER),
    "unshare-net": call("unshare", NET),
    "unshare-mount": call("unshare", MOUNT),
    "setns": call("setns", BAD, 0),
    "clone-user": call("clone", USER | CHILD, 0, 0, 0, 0),
    "chroot": call("chroot", NOWHERE),
    "open_by_handle_at": call("open_by_handle_at", BAD, 0, 0),
    "bpf": call("bpf", 0, 0, 0),
    "perf_event_open": call("perf_event_open", 0, 0, 0, BAD, 0),
    "keyctl": call("keyctl", 0, BAD - 2, 0),
    "add_key": call("add_key", 0, 0, 0, 0, BAD - 2),
    "request_key": call("request_key", 0, 0, 0, BAD - 2),
    "userfaultfd": call("userfaultfd", 0),
    "io_uring_setup": call("io_uring_setup", 1, 0),
    "fsopen": call("fsopen", b"tmpfs", 0),
    "open_tree": call("open_tree", BAD, NOWHERE, 1),
    "move_mount": call("move_mount", BAD, NOWHERE, BAD, NOWHERE, 0),
    "reboot": call("reboot", 0, 0, 0, 0),
    "swapon": call("swapon", NOWHERE, 0),
    "acct": call("acct", NOWHERE),
    "sethostname": call("sethostname", 0, BAD),
    "init_module": call("init_module", 0, 0, 0),
    "syslog": call("syslog", 10, 0, 0),
    "raw-icmp": opens(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "raw-icmp6": opens(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
    "packet": opens(socket.AF_PACKET, socket.SOCK_RAW, 0),
}
PLAIN = {
    "getppid": call("getppid"),
    "clone": call("clone", CHILD, 0, 0, 0, 0),
    "tcp": opens(socket.AF_INET, socket.SOCK_STREAM),
    "unix": opens(socket.AF_UNIX, socket.SOCK_STREAM),
}

def apart(ask):
    # In a child, which may itself become two by clone: the errno as its exit status.
    child = os.fork()
    if child == 0:
        os._exit(ask())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

print(json.dumps({kind: {name: apart(ask) for name, ask in asks.items()}
                  for kind, asks in (("widening", WIDENING), ("plain", PLAIN))}))
"""


def answers(text: str) -> dict[str, dict[str, int]]:
    """What the script printed: errno by name (0: it worked) of the calls that widen powers and of plain ones."""
    found: dict[str, dict[str, int]] = json.loads(text)
    return found
