"""TU-06, TU-07: a viewer cut off three times, the api restarted in between, ends with the model a fresh load shows."""

import json
from pathlib import Path

from guildhall_api.fold import fold
from guildhall_api.hub import Cursor
from guildhall_api.model import Model
from guildhall_contracts.events import Unreadable, decode_event
from support.api_run import Api, api_over, finish_line, pod_object, run_object, start_line, until, warn_line
from support.api_socket import served
from support.kube_stub import KubeStub
from unit.api.test_stream import OPENED, Reader, watch


class Console:
    """What a console does with a stream: fold what comes, remember the id."""

    def __init__(self) -> None:
        self.model = Model()
        self.cursor = ""
        self.seqs: list[int] = []

    async def read(self, viewer: Reader, last: int) -> None:
        while self.model.last_seq < last:
            name, data = await viewer.frame(10)
            if name != "events":
                continue
            for each in data:
                row = each.get("type") == "unreadable"
                self.seqs.append(0 if row else each["seq"])
                fold(self.model, Unreadable(**each) if row else decode_event(json.dumps(each).encode()))
            self.cursor = viewer.last_id


async def test_cut_three_times_with_a_restart_between(tmp_path: Path) -> None:
    stub = KubeStub()
    console = Console()
    async with stub.serving():
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line(), *(warn_line(seq) for seq in range(2, 10)), b"noise")
        async with api_over(stub, tmp_path) as api, served(api) as port:
            await until(lambda: _last(api, 9))
            viewer = await watch(port)
            await console.read(viewer, 9)
            viewer.writer.transport.abort()
            await stub.write("fix-pod", warn_line(10), b"more noise", warn_line(11))
            viewer = await watch(port, last_event_id=console.cursor)
            await console.read(viewer, 11)
            viewer.writer.transport.abort()
        await stub.write("fix-pod", *(warn_line(seq) for seq in range(12, 20)))
        async with api_over(stub, tmp_path) as api, served(api) as port:
            viewer = await watch(port, last_event_id=console.cursor)
            await console.read(viewer, 19)
            viewer.writer.transport.abort()
            await stub.write("fix-pod", finish_line(20))
            viewer = await watch(port, last_event_id=console.cursor)
            await console.read(viewer, 20)
            fresh = await api.model()
            for writer in OPENED:
                writer.transport.abort()
            OPENED.clear()
    assert [seq for seq in console.seqs if seq] == list(range(1, 21))
    assert console.seqs.count(0) == 2
    assert console.model.to_wire() == fresh
    assert console.cursor == str(Cursor(20, 2))


async def _last(api: Api, seq: int) -> bool:
    return (await api.events())[-1:] == [seq]
