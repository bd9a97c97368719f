"""Build contexts: small folders with exactly what the Dockerfile copies, fetched and compiled beforehand."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from .catalog import PYTHON, ROOT, Image, Kind
from .digests import fingerprint, least_used
from .errors import ImageError
from .shell import run, say

# The providers' clients are thousands of generated classes: their byte code alone keeps the gateway
# within its size, at the price of tracebacks without source lines there.
SOURCELESS = ("anthropic", "openai", "google/genai")
PROGRAMS = ("monty",)  # the interpreter of run_code
UNUSED_SUFFIXES = {".c", ".cpp", ".h", ".pyx", ".pxd", ".pyi", ".a"}
DEPENDENCIES_KEPT_COUNT = 2  # of one component: two checkouts with different locks can share the cache
BUSYBOX_PLACES = (Path("/bin/busybox"), Path("/usr/bin/busybox"))


def facts(image: Image) -> list[str]:
    """Inputs that are not files of the repository: locked requirements, platform, tool versions."""
    match image.kind:
        case Kind.COMPONENT:
            return [
                _requirements(image).read_text(),
                platform.machine(),
                PYTHON,
                *SOURCELESS,
                *PROGRAMS,
                f"strip {shutil.which('strip') is not None}",
            ]
        case Kind.WORKSHOP:
            return [run(["go", "env", "GOVERSION", "GOARCH"], cwd=ROOT / "workshop")]
        case Kind.SANDBOX:
            return [_sandbox_lock(image).read_text(), platform.machine(), PYTHON]
        case Kind.BUSYBOX:
            return [str(busybox().stat().st_size), platform.machine()]


def fill(image: Image, folder: Path, cache: Path) -> None:
    """Put everything the image's Dockerfile copies into `folder`; `cache` keeps what took long to fetch."""
    match image.kind:
        case Kind.COMPONENT:
            _component(image, folder, cache)
        case Kind.WORKSHOP:
            _workshop(folder)
        case Kind.SANDBOX:
            _install(folder / "tools", ["--require-hashes", "--only-binary", ":all:", "-r", str(_sandbox_lock(image))])
            _compile(folder / "tools", "/opt/tools")
        case Kind.BUSYBOX:
            _busybox(folder / "rootfs")
            (folder / "data").mkdir()
            (folder / "data" / "of-the-image").write_text("open to whoever is uid 10002\n")
    shutil.copy(image.dockerfile, folder / "Dockerfile")
    run(["chmod", "-R", "u=rwX,go=rX", folder])


def _requirements(image: Image) -> Path:
    """The locked dependencies of one component with their hashes (`make lock` writes them)."""
    lock = ROOT / "requirements" / f"{image.name}.lock"
    if not lock.is_file():
        raise ImageError(f"{lock.relative_to(ROOT)} is missing; write it with: make lock")
    return lock


def _sandbox_lock(image: Image) -> Path:
    return image.dockerfile.with_name("requirements.lock")


def _component(image: Image, folder: Path, cache: Path) -> None:
    """Two folders, so that a change of our own code leaves the big layer of dependencies as it is."""
    run(["cp", "-al", _dependencies(image, cache), folder / "deps"])
    site, wheels = folder / "site", folder / "wheels"
    for package in ("guildhall-contracts", image.package):
        run(["uv", "build", "--quiet", "--wheel", "--package", package, "--out-dir", wheels], cwd=ROOT)
    _install(site, ["--no-deps", *(str(wheel) for wheel in sorted(wheels.glob("*.whl")))])
    _compile(site, "/opt/guildhall")
    shutil.rmtree(wheels)
    if "web" in image.sources:
        _console(folder / "console")


def _dependencies(image: Image, cache: Path) -> Path:
    """The component's locked packages, installed, slimmed and compiled; made once for each lock."""
    recipe = [*facts(image), Path(__file__).read_text()]
    kept = cache / f"deps-{image.name}-{fingerprint(cache, [], recipe)}"
    if not kept.exists():
        for old in least_used(cache.glob(f"deps-{image.name}-*"), DEPENDENCIES_KEPT_COUNT - 1):
            shutil.rmtree(old)
        partial = kept.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        _install(partial, ["--require-hashes", "--only-binary", ":all:", "-r", str(_requirements(image))])
        slim(partial)
        _compile(partial, "/opt/guildhall")
        run(["chmod", "-R", "u=rwX,go=rX", partial])
        partial.rename(kept)
    kept.touch()
    return kept


def _platform() -> str:
    return f"{platform.machine()}-manylinux_2_28"


def _install(target: Path, words: list[str]) -> None:
    platform_words = ["--python-version", PYTHON, "--python-platform", _platform()]
    # Copies, never links into uv's cache: what is stripped here is what other environments have mapped.
    run(["uv", "pip", "install", "--quiet", "--link-mode=copy", "--target", target, *platform_words, *words], cwd=ROOT)
    keep_programs(target / "bin")
    (target / ".lock").unlink(missing_ok=True)


def keep_programs(folder: Path) -> None:
    """Leaves of a package's programs those that ours start."""
    if not folder.is_dir():
        return
    for path in [p for p in folder.iterdir() if p.name not in PROGRAMS]:
        path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def slim(site: Path) -> None:
    """Take out what no program imports: C sources, stubs, packages' own tests, and debug symbols."""
    for path in [p for p in site.rglob("*") if p.suffix in UNUSED_SUFFIXES and p.is_file()]:
        path.unlink()
    for folder in [p for p in site.rglob("tests") if p.is_dir() and p.parent != site]:
        shutil.rmtree(folder, ignore_errors=True)
    libraries = sorted(site.rglob("*.so"))
    if libraries and shutil.which("strip"):
        run(["strip", "--strip-debug", *libraries])
    elif libraries:
        say("strip is not installed (Debian: binutils): the image keeps debug symbols and grows by a quarter")


def _compile(target: Path, inside: str) -> None:
    """Byte code that needs no check of the source's time: images have fixed, odd file times."""
    python = run(["uv", "python", "find", "--no-project", PYTHON]).strip()
    modes = ["--invalidation-mode", "unchecked-hash", "-s", str(target), "-p", inside]
    for name in SOURCELESS:
        if (target / name).is_dir():
            run([python, "-m", "compileall", "-q", "-j", "2", "-b", *modes, str(target / name)])
            for source in (target / name).rglob("*.py"):
                source.unlink()
    run([python, "-m", "compileall", "-q", "-j", "2", *modes, str(target)])


def _console(folder: Path) -> None:
    """The console's files as they are: it has no build step. What only development needs stays out."""
    shutil.copytree(ROOT / "web", folder, ignore=shutil.ignore_patterns("node_modules", "package*.json", "*.mjs"))


def _workshop(folder: Path) -> None:
    """The workshop's own build script makes the binary, so that there is one way to build it."""
    run([ROOT / "workshop" / "build.sh", folder / "guildhall-workshop"], environment={"GOWORK": "off"})


def busybox() -> Path:
    """The machine's static busybox."""
    found = next((p for p in BUSYBOX_PLACES if p.exists()), None)
    if found is None:
        raise ImageError("no static busybox; install it (Debian: busybox-static)")
    return found


def _busybox(root: Path) -> None:
    binary = busybox()
    for name in ("bin", "etc", "tmp", "usr/bin"):
        (root / name).mkdir(parents=True)
    shutil.copy(binary, root / "bin" / "busybox")
    names = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        if name != "busybox":
            (root / "bin" / name).symlink_to("busybox")
    (root / "usr/bin/env").symlink_to("../../bin/busybox")
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
