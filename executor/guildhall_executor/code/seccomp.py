"""System calls a worker and the interpreter below it do without. Guards against an interpreter that was broken out of.

Network, other processes (their limits and priorities too), what Landlock leaves open of files
(modes, owners, times, attributes), kernel objects that outlive it, namespaces and new sessions are refused with EPERM.
What is left is reading and writing open descriptors, memory, threads, and starting what Landlock names.
"""

import ctypes
import errno
import platform
import struct
from typing import Final

# Number on x86_64, number on aarch64; None where the architecture has no such call.
REFUSED: Final[dict[str, tuple[int | None, int | None]]] = {
    "accept": (43, 202),
    "accept4": (288, 242),
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchownat": (260, 54),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "fork": (57, None),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "init_module": (175, 105),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lchown": (94, None),
    "listen": (50, 201),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "recvmsg": (47, 212),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semget": (64, 190),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "setns": (308, 268),
    "setpgid": (109, 154),
    "setpriority": (141, 140),
    "setsid": (112, 157),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmget": (29, 194),
    "socket": (41, 198),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
}
KILL: Final = (62, 129)
PRLIMIT: Final = (302, 261)
CLONE: Final = (56, 220)
THREAD_OR_SPAWN: Final = 0x0001_0000 | 0x4000  # CLONE_THREAD, CLONE_VFORK: a parent that waits for its child
NEW_NAMESPACE: Final = 0x7E02_0000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET: `unshare` by another name
_CLONE3: Final = 435  # its flags are out of sight of a filter; the C library then uses `clone`
_X32_BIT: Final = 0x4000_0000
_ARCHITECTURES: Final = {"x86_64": (0, 0xC000_003E), "aarch64": (1, 0xC000_00B7)}

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_AT_NUMBER, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT = 0, 4, 16
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_SINGLE = struct.Struct("=HBBI")


def program(machine: str) -> bytes | None:
    """The filter for a machine as the kernel takes it; None for a machine it was not written for."""
    if machine not in _ARCHITECTURES:
        return None
    column, audit = _ARCHITECTURES[machine]
    lines = [
        _SINGLE.pack(_LOAD, 0, 0, _AT_ARCHITECTURE),
        _SINGLE.pack(_JUMP_EQUAL, 1, 0, audit),
        _SINGLE.pack(_RETURN, 0, 0, _KILL_PROCESS),
        _SINGLE.pack(_LOAD, 0, 0, _AT_NUMBER),
    ]
    if machine == "x86_64":
        lines += [_SINGLE.pack(_JUMP_AT_LEAST, 0, 1, _X32_BIT), _SINGLE.pack(_RETURN, 0, 0, _KILL_PROCESS)]
    for numbers in REFUSED.values():
        number = numbers[column]
        if number is not None:
            lines += _refuse(number, errno.EPERM)
    lines += _refuse(_CLONE3, errno.ENOSYS)
    lines += _only_for_zero(KILL[column])
    lines += _only_for_zero(PRLIMIT[column])
    lines += _no_plain_fork(CLONE[column])
    lines.append(_SINGLE.pack(_RETURN, 0, 0, _ALLOW))
    return b"".join(lines)


def _refuse(number: int, error: int) -> list[bytes]:
    return [_SINGLE.pack(_JUMP_EQUAL, 0, 1, number), _SINGLE.pack(_RETURN, 0, 0, _ERRNO | error)]


def _only_for_zero(number: int) -> list[bytes]:
    """`kill(0, …)`, which ends the worker with everything below it; `prlimit64(0, …)`, its own limits; no other's."""
    return [
        _SINGLE.pack(_JUMP_EQUAL, 0, 4, number),
        _SINGLE.pack(_LOAD, 0, 0, _AT_FIRST_ARGUMENT),
        _SINGLE.pack(_JUMP_EQUAL, 1, 0, 0),
        _SINGLE.pack(_RETURN, 0, 0, _ERRNO | errno.EPERM),
        _SINGLE.pack(_RETURN, 0, 0, _ALLOW),
    ]


def _no_plain_fork(number: int) -> list[bytes]:
    """Threads, and children that hold their parent until they run a program: nothing that can multiply, and nothing in
    namespaces of its own."""
    return [
        _SINGLE.pack(_JUMP_EQUAL, 0, 5, number),
        _SINGLE.pack(_LOAD, 0, 0, _AT_FIRST_ARGUMENT),
        _SINGLE.pack(_JUMP_ANY_BIT, 1, 0, NEW_NAMESPACE),
        _SINGLE.pack(_JUMP_ANY_BIT, 1, 0, THREAD_OR_SPAWN),
        _SINGLE.pack(_RETURN, 0, 0, _ERRNO | errno.EPERM),
        _SINGLE.pack(_RETURN, 0, 0, _ALLOW),
    ]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install() -> bool:
    """Puts the filter over this thread and all it starts; whether the kernel took it. Needs no_new_privs."""
    code = program(platform.machine())
    if code is None:
        return False
    held = ctypes.create_string_buffer(code, len(code))
    described = _Program(len(code) // _SINGLE.size, ctypes.cast(held, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(described), 0, 0) == 0)
