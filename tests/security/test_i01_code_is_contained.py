"""I1: code a model wrote reaches nothing: not by the language, and not by the process it runs in if the language fails.

The first half runs hostile programs in the interpreter: in a worker as it is, and in one that nothing confines, where
only the language stands between them and the secret; in CPython each of them gets through. The second half supposes
that one got out: it runs native probes in a process confined exactly as a worker is, each beside the same probe
unconfined, which has to succeed.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from guildhall_executor.code.pool import start_worker
from support.code import Bench, bare, children, status

CANARY = "canary-7c1f"


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench(lambda tool, arguments: Path(json.loads(arguments)["path"]).read_text())
    yield made
    await made.pool.close()


@pytest.fixture
def secret() -> Iterator[Path]:
    """A file as the executor's token is one: this uid can read it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path = Path(folder) / "token"
        path.write_text(CANARY)
        yield path


READS = [
    "open({path!r}).read()",
    "import os\nos.listdir({folder!r})",
    "import os\nos.environ['CANARY']",
    "import os\nos.getenv('CANARY')",
    "import os\nos.system('cat {path}')",
    "import os\nos.popen('cat {path}').read()",
    "import subprocess\nsubprocess.check_output(['cat', {path!r}])",
    "from pathlib import Path\nPath({path!r}).read_text()",
    "import pathlib\n[str(p) for p in pathlib.Path({folder!r}).iterdir()]",
    "import io\nio.open({path!r}).read()",
    "import sys\nsys.modules['os'].environ['CANARY']",
    "import ctypes\nctypes.CDLL(None).getenv(b'CANARY')",
    "import socket\nsocket.create_connection(('127.0.0.1', {port})).recv(5)",
    "import urllib.request\nurllib.request.urlopen('file://{path}').read()",
    "__import__('os').environ['CANARY']",
    "eval('__import__(\"os\")').environ['CANARY']",
    "exec('import os; r = os.environ[\"CANARY\"]')\nr",
    "().__class__.__base__.__subclasses__()",
    "[c for c in ().__class__.__bases__[0].__subclasses__() if c.__name__ == 'catch_warnings']",
    "(lambda: 0).__globals__['__builtins__'].open({path!r}).read()",
    "read_file.__globals__['os'].environ['CANARY']",
    "read_file.__self__",
    "print.__self__.open({path!r}).read()",
    "type(messages).__mro__[-1].__subclasses__()",
    "'{{0.__class__.__init__.__globals__}}'.format(read_file)",
    "'{{0.__globals__}}'.format(read_file)",
    "try:\n    1/0\nexcept Exception as e:\n    r = e.__traceback__.tb_frame.f_back.f_globals\nr",
    "g = (g.gi_frame.f_back.f_builtins['open']({path!r}).read() for _ in [1])\nnext(g)",
    "import gc\ngc.get_objects()",
    "import inspect\ninspect.currentframe().f_back.f_globals",
    "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'cat {path}'\\ntR.\")",
    "import importlib\nimportlib.import_module('os').environ['CANARY']",
    "breakpoint()",
    "input()",
]


@pytest.fixture
def programs(secret: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The programs, with a secret in a file and in the environment, and a server that answers."""
    monkeypatch.setenv("CANARY", CANARY)
    with socket.create_server(("127.0.0.1", 0)) as server:
        served(server)
        port = server.getsockname()[1]
        yield [program.format(path=str(secret), folder=str(secret.parent), port=port) for program in READS]


async def escapes(bench: Bench, programs: list[str], secret: Path) -> list[tuple[str, str]]:
    """The programs that came to anything but an error of the language, and what they said.

    The control after each: the same worker gives back what code may have, by the function it was lent.
    """
    found = []
    for program in programs:
        result = await bench.run(program)
        said = result.value + result.error + "".join(result.stdout)
        if result.status != "error" or CANARY in said or "cannot be given back" in said:
            found.append((program, said))
        control = await bench.run(f"read_file({str(secret)!r})['text']")
        assert json.loads(control.value) == CANARY
    return found


async def test_no_program_reads_a_file_or_the_environment(bench: Bench, secret: Path, programs: list[str]) -> None:
    assert await escapes(bench, programs, secret) == []


async def test_the_language_alone_keeps_every_program_in(
    bench: Bench, secret: Path, programs: list[str], tmp_path: Path
) -> None:
    """Nothing else holds: worker and interpreter have the secret in their environment, and may read its file."""
    bench.start = bare(tmp_path, "CANARY", CANARY)
    given, seen = bench.answer, []

    def answer(tool: str, arguments: str) -> str:
        worker = bench.started[-1].process.pid
        seen.append((unheld(worker), any(unheld(pid) for pid in children(worker))))
        return str(given(tool, arguments))

    bench.answer = answer
    assert await escapes(bench, programs, secret) == []
    assert seen == [(True, True)] * len(programs), "worker and interpreter, each time"


def unheld(pid: int) -> bool:
    """Whether a process has the secret in its environment, and nothing that keeps it from files."""
    try:
        facts = status(pid)
        has = f"CANARY={CANARY}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False  # the interpreter of the program before, which has ended
    return has and (facts["NoNewPrivs"], facts["Seccomp"]) == ("0", "0")


CPYTHON = """
import ast, builtins, io, json, os, sys
class Lent:
    def __init__(self): pass
    def __call__(self): pass
    def method(self): pass
def function(): pass
def ran(program, read_file):
    sys.stdin, world = io.StringIO("c\\n"), {"read_file": read_file, "messages": [], "__builtins__": builtins}
    *body, last = ast.parse(program).body
    exec(compile(ast.Module(body, []), "code.py", "exec"), world)
    return str(eval(compile(ast.Expression(last.value), "code.py", "eval"), world))
def tried(program):
    why = []
    for lent in (function, Lent().method, Lent()):
        try:
            return [True, ran(program, lent)[:100_000]]
        except Exception as error:
            why.append(repr(error))
    return [False, why]
answer = os.dup(1)
os.dup2(2, 1)
os.write(answer, json.dumps([tried(program) for program in json.loads(sys.argv[1])]).encode())
"""


def test_positive_control_each_program_gets_through_in_cpython(programs: list[str]) -> None:
    """So it is this language that keeps them in: not a mistake in the program, nor a secret that is not there."""
    command = [sys.executable, "-c", CPYTHON, json.dumps(programs)]
    made = subprocess.run(command, capture_output=True, timeout=60, check=True)
    came_to = dict(zip(programs, json.loads(made.stdout), strict=True))
    assert {program: why for program, (through, why) in came_to.items() if not through} == {}
    quiet = [program for program, (_, said) in came_to.items() if "['CANARY']" in program and CANARY not in said]
    quiet += [program for program, (_, said) in came_to.items() if ".read" in program and CANARY not in said]
    assert quiet == [], "what looks for the secret finds it"


@pytest.mark.parametrize("held", [True, False], ids=["confined", "by the language alone"])
@pytest.mark.parametrize(
    "program",
    [
        "f = open({path!r}, 'w')\nf.write('x')\nf.close()",
        "from pathlib import Path\nPath({path!r}).write_text('x')",
        "import os\nos.mkdir({path!r})",
    ],
)
async def test_no_program_writes_a_file(bench: Bench, secret: Path, program: str, held: bool, tmp_path: Path) -> None:
    if not held:
        bench.start = bare(tmp_path, "CANARY", CANARY)
    source = program.format(path=str(secret.parent / "made"))
    assert (await bench.run(source)).status == "error"
    assert names(secret.parent) == ["token"]
    exec(source, {})  # noqa: S102  as CPython, which has another language, reads it
    assert names(secret.parent) == ["made", "token"], "control: it is a program that would"


async def test_an_object_left_behind_runs_nowhere_else(bench: Bench) -> None:
    """What the code returns is copied; a finaliser that loops for ever ends with its interpreter."""
    loop = "        while True: pass\n"
    result = await bench.run(f"class A:\n    def __del__(self):\n{loop}    def __eq__(self, other):\n{loop}[A()]")
    assert result.status in ("error", "killed")
    assert (await bench.run("1 + 1")).value == "2"


async def test_what_a_worker_process_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The facts of both processes as the kernel tells them, next to those of this one."""
    monkeypatch.setenv("CANARY", CANARY)
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    worker = await start_worker()
    try:
        for pid in (worker.process.pid, *children(worker.process.pid)):
            look_at(pid, f"pipe:[{os.fstat(writing).st_ino}]")
        own = status(os.getpid())
        assert (own["NoNewPrivs"], own["Seccomp"]) == ("0", "0")  # the control: this process has neither
        assert control_environment() == CANARY
    finally:
        await worker.end()
        os.close(reading)
        os.close(writing)


def look_at(pid: int, own_pipe: str) -> None:
    place = Path(f"/proc/{pid}")
    facts = status(pid)
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")
    assert CANARY.encode() not in (place / "environ").read_bytes()
    held = [str(link.readlink()) for link in (place / "fd").iterdir()]
    assert [one for one in held if not one.startswith(("pipe:", "socket:", "anon_inode:", "/dev/null"))] == []
    assert own_pipe not in held
    assert str((place / "cwd").readlink()).endswith("(deleted)")
    limits = (place / "limits").read_text()
    assert "Max file size             0" in limits
    assert "Max core file size        0" in limits
    assert (place / "oom_score_adj").read_text().strip() == "1000"


def control_environment() -> str:
    script = "import os; print(os.environ['CANARY'])"
    return subprocess.check_output([sys.executable, "-c", script], text=True).strip()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


CONFINED = """
import ctypes, os, resource, signal, socket, sys
from pathlib import Path
from guildhall_executor.code.confine import confine
libc = ctypes.CDLL(None, use_errno=True)
if sys.argv[1] == "confined":
    held = confine(Path("/bin/true"), 1 << 30)
    assert all(held.values()), held
try:
    got = eval(compile(sys.argv[2], "probe", "eval"))
except OSError as error:
    got = f"refused {error.errno}"
os.write(1, str(got).encode())
"""


def probe(expression: str, how: str) -> str:
    made = subprocess.run(
        [sys.executable, "-c", CONFINED, how, expression], capture_output=True, timeout=60, check=False, text=True
    )
    return made.stdout or f"died {made.returncode} {made.stderr[-300:]}"


PROBES = {
    "read a file": "open({secret!r}).read()",
    "list a folder": "os.listdir({folder!r})",
    "make a file": "open({folder!r} + '/made', 'w').close() or 'made'",
    "remove a file": "os.access({spare!r}, os.F_OK) and (os.unlink({spare!r}) or 'removed')",
    "read the parent's environment": "len(open('/proc/{parent}/environ', 'rb').read()) > 0",
    "read the parent's memory": "open('/proc/{parent}/maps').read(1) != ''",
    "read what it was started with itself": "len(open('/proc/self/environ', 'rb').read()) > 0",
    "signal the parent": "os.kill({parent}, 0) or 'signalled'",
    "signal everybody": "os.kill(-1, 0) or 'signalled'",
    "connect by TCP": "socket.create_connection(('127.0.0.1', {port})).recv(5).decode()",
    "make a Unix socket": "socket.socket(socket.AF_UNIX) and 'made'",
    "leave the group": "os.setsid() and 'left' if os.getpid() != os.getpgid(0) else (os.setpgid(0, 0) or 'left')",
    "start a program": "os.posix_spawn('/bin/echo', ['echo'], {{}}) and os.wait()[1]",
    "start a shell": "os.posix_spawn('/bin/sh', ['sh', '-c', 'true'], {{}}) and os.wait()[1]",
    "fork": "(lambda pid: os._exit(0) if pid == 0 else os.waitpid(pid, 0)[1])(os.fork())",
    "change the parent's limits": "resource.prlimit({parent}, resource.RLIMIT_CORE) and 'seen'",
    "slow the parent": "os.setpriority(os.PRIO_PROCESS, {parent}, os.getpriority(os.PRIO_PROCESS, {parent})) or 'set'",
    "choose the parent's processors": "os.sched_setaffinity({parent}, os.sched_getaffinity({parent})) or 'set'",
    "close a file to its owner": "os.chmod({spare!r}, 0o600) or 'closed'",
    "empty a file": "os.truncate({spare!r}, 0) or 'emptied'",
    "age a file": "os.utime({spare!r}, (0, 0)) or 'aged'",
    "make a memory file": "os.memfd_create('x') and 'made'",
}


@pytest.mark.parametrize("what", PROBES)
def test_native_code_in_a_worker_s_place_gets_nowhere(what: str, secret: Path) -> None:
    spare = secret.parent / "spare"
    spare.write_text("x")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        expression = PROBES[what].format(
            secret=str(secret), folder=str(secret.parent), spare=str(spare), parent=os.getpid(), port=port
        )
        if what == "connect by TCP":
            served(server)
        before = names(secret.parent)
        confined = probe(expression, "confined")
        assert confined.startswith("refused"), confined
        assert names(secret.parent) == before
        free = probe(expression, "free")
        assert not free.startswith(("refused", "died")), free


CLONE_INTO_A_USER_NAMESPACE = (
    "(lambda pid: os._exit(0) if pid == 0 else 'made' if pid > 0 else f'refused {ctypes.get_errno()}')"
    "(libc.syscall(56 if os.uname().machine == 'x86_64' else 220, 0x4000 | 0x1000_0000 | 17, 0, 0, 0, 0))"
)


def test_a_spawned_child_has_no_namespaces_of_its_own() -> None:
    """`unshare` is refused; the same flags given to `clone` are too."""
    free = probe(CLONE_INTO_A_USER_NAMESPACE, "free")
    if free.startswith("refused"):
        pytest.skip(f"this kernel gives nobody a user namespace ({free}), so that nothing could be compared")
    assert free == "made"
    assert probe(CLONE_INTO_A_USER_NAMESPACE, "confined") == "refused 1"


def served(server: socket.socket) -> None:
    """Answers every connection from a thread, so that a connection that is made is seen to be made."""

    def answer() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"hello")

    threading.Thread(target=answer, daemon=True).start()


def test_the_executor_s_memory_is_closed_to_others_of_its_uid() -> None:
    """Tried as an ordinary uid: root may read everything. The control is a process that did not ask for it."""
    if os.getuid() != 0:
        pytest.skip("needs root, to become two processes of another uid")
    script = (
        "import os, sys, time\n"
        "from guildhall_executor.__main__ import be_private\n"
        "if sys.argv[1] == 'private': be_private()\n"
        "os.setgid(10001); os.setuid(10001)\n"
        "if sys.argv[1] == 'private': be_private()\n"
        "else:\n"
        "    import ctypes; ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    seen = {}
    for how in ("private", "open"):
        with subprocess.Popen([sys.executable, "-c", script, how], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            place = f"/proc/{process.pid}/environ"
            look = f"import os; os.setgid(10001); os.setuid(10001); print(len(open({place!r}, 'rb').read()))"
            read = subprocess.run([sys.executable, "-c", look], capture_output=True, check=False)
            seen[how] = read.returncode
            process.kill()
    assert seen == {"private": 1, "open": 0}
