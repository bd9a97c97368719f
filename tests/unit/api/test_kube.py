"""The client of the API server: whatever goes wrong, on the way or in the pod's own files, is a KubeError."""

from pathlib import Path

import pytest
from guildhall_api import kube as module
from guildhall_api.config import StartError
from guildhall_api.kube import Access, Kube, KubeError, from_kubeconfig, in_cluster
from support.kube_stub import KubeStub

PODS = "/api/v1/namespaces/team/pods"


async def _asked(kube: Kube, way: str) -> None:
    if way == "call":
        await kube.get(PODS)
    else:
        async with kube.stream(PODS, {}, idle_seconds=1) as chunks:
            async for _ in chunks:
                pass


@pytest.mark.parametrize("way", ["call", "stream"])
@pytest.mark.parametrize("content", [None, b"caf\xe9"], ids=["not there", "no token"])
async def test_a_token_that_cannot_be_read_is_a_cluster_that_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, content: bytes | None
) -> None:
    """The kubelet writes it anew from time to time; while it is away nothing may die of it."""
    monkeypatch.setattr(module, "_TOKEN_FRESH_SECONDS", -1)
    path = tmp_path / "token"
    path.write_bytes(b"good")
    async with KubeStub().serving() as stub:
        kube = Kube(Access(stub.url, token_file=path))
        await _asked(kube, way)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        with pytest.raises(KubeError) as raised:
            await _asked(kube, way)
        assert (raised.value.status, raised.value.reason) == (0, "Unreachable")
        assert f"the service account token {path} cannot be read: " in raised.value.message
        path.write_bytes(b"good again")
        await _asked(kube, way)
        await kube.aclose()


def test_kubeconfigs_that_name_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config"
    path.write_text('{"current-context": "x", "contexts": [], "clusters": [], "users": []}')
    with pytest.raises(StartError, match="names no contexts entry 'x'"):
        from_kubeconfig(path)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(StartError, match="in no pod"):
        in_cluster()
