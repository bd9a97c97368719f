"""The filter as a program: every call it names is refused on both machines, by its number there."""

import errno
import platform
import re
import struct
from pathlib import Path

import pytest
from guildhall_executor.code import seccomp

ALLOW, KILL, ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
AUDIT = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}


def judge(machine: str, number: int, first: int = 0, *, audit: int | None = None) -> int:
    """What the kernel would return for a call: a small interpreter of the few instructions there are."""
    code = seccomp.program(machine)
    assert code is not None
    lines = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    data = {0: number, 4: AUDIT[machine] if audit is None else audit, 16: first & 0xFFFF_FFFF}
    value, at = 0, 0
    while True:
        operation, yes, no, operand = lines[at]
        at += 1
        if operation == 0x20:
            value = data[operand]
        elif operation == 0x15:
            at += yes if value == operand else no
        elif operation == 0x35:
            at += yes if value >= operand else no
        elif operation == 0x45:
            at += yes if value & operand else no
        else:
            assert operation == 0x06
            return int(operand)


@pytest.mark.parametrize(("column", "machine"), [(0, "x86_64"), (1, "aarch64")])
def test_what_is_named_is_refused_and_the_rest_is_not(column: int, machine: str) -> None:
    refused = {numbers[column] for numbers in seccomp.REFUSED.values()}
    by_argument = {table[column] for table in (seccomp.KILL, seccomp.PRLIMIT, seccomp.CLONE)}
    for number in range(500):
        verdict = judge(machine, number, first=1)
        if number in refused | by_argument:
            assert verdict == ERRNO | errno.EPERM, number
        elif number == 435:
            assert verdict == ERRNO | errno.ENOSYS
        else:
            assert verdict == ALLOW, number


@pytest.mark.parametrize(("column", "machine"), [(0, "x86_64"), (1, "aarch64")])
def test_a_worker_may_end_its_own_group_and_nobody_else(column: int, machine: str) -> None:
    kill = seccomp.KILL[column]
    assert judge(machine, kill, first=0) == ALLOW
    for other in (1, -1, -7, 4_000_000):
        assert judge(machine, kill, first=other) == ERRNO | errno.EPERM


@pytest.mark.parametrize(("column", "machine"), [(0, "x86_64"), (1, "aarch64")])
def test_a_worker_may_set_its_own_limits_and_nobody_else_s(column: int, machine: str) -> None:
    prlimit = seccomp.PRLIMIT[column]
    assert judge(machine, prlimit, first=0) == ALLOW
    for other in (1, 4_000_000):
        assert judge(machine, prlimit, first=other) == ERRNO | errno.EPERM


@pytest.mark.parametrize(("column", "machine"), [(0, "x86_64"), (1, "aarch64")])
def test_nothing_that_is_spawned_gets_namespaces_of_its_own(column: int, machine: str) -> None:
    clone, spawn = seccomp.CLONE[column], 0x4111
    assert judge(machine, clone, first=spawn) == ALLOW
    for bit in (0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000):
        assert judge(machine, clone, first=spawn | bit) == ERRNO | errno.EPERM


@pytest.mark.parametrize(("column", "machine"), [(0, "x86_64"), (1, "aarch64")])
def test_threads_and_spawned_programs_may_begin_and_forks_may_not(column: int, machine: str) -> None:
    clone = seccomp.CLONE[column]
    thread, spawn, fork = 0x3D0F00, 0x4111, 0x1200011  # as the C library asks for them
    assert [judge(machine, clone, first=flags) for flags in (thread, spawn)] == [ALLOW, ALLOW]
    assert judge(machine, clone, first=fork) == ERRNO | errno.EPERM
    assert judge(machine, clone, first=17) == ERRNO | errno.EPERM


def test_other_ways_to_number_calls_end_the_process() -> None:
    assert judge("x86_64", 41, audit=0x4000_0003) == KILL  # the 32-bit table
    assert judge("x86_64", 0x4000_0000 | 41) == KILL  # x32
    assert judge("aarch64", 198, audit=AUDIT["x86_64"]) == KILL


def test_there_is_no_filter_for_a_machine_it_was_not_written_for() -> None:
    assert seccomp.program("riscv64") is None


def test_the_numbers_are_this_machine_s() -> None:
    """Compares with the C library's own list, where its headers are installed."""
    headers = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if platform.machine() != "x86_64" or not headers.is_file():
        pytest.skip("no x86_64 kernel headers on this machine")
    known = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", headers.read_text())}
    assert len(known) > 300
    assert {n: v[0] for n, v in seccomp.REFUSED.items() if n in known and known[n] != v[0]} == {}
    generic = Path("/usr/include/asm-generic/unistd.h").read_text()
    arm = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", generic)}
    assert {n: v[1] for n, v in seccomp.REFUSED.items() if n in arm and arm[n] != v[1]} == {}
