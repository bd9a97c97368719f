"""The model route end to end on loopback: replies, replays, budgets, cuts."""

from pathlib import Path

from unit.gateway import kit


async def test_a_scripted_reply_streams_and_is_settled(tmp_path: Path) -> None:
    text = "a text longer than one piece, so that it comes in several"
    kit.scenario(tmp_path, "hi", [{"reply": {"text": text}, "usage": {"tokens": 10, "outputTokens": 2}}])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        lines = await served.model(kit.request())
        assert "".join(line["text"] for line in lines if line["type"] == "text") == text
        reply = lines[-1]["reply"]
        assert reply["text"] == text
        assert reply["scripted"] is True
        assert reply["totals"]["calls"] == 1


async def test_a_settled_call_replays_its_reply_and_is_not_paid_again(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI], price={"promptMicroUSD": 1_000_000})
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        first = (await served.model(kit.request()))[-1]["reply"]
        again = await served.model(kit.request())
        assert len(again) == 1
        replayed = again[0]["reply"]
        assert replayed.pop("replayed") is True
        assert first.pop("replayed") is False
        assert replayed == first
        assert first["costMicroUSD"] == 10
        async with served.client() as client:
            other = await client.post("/v1/model", json=kit.request(maxOutputTokens=99))
        assert other.status_code == 409
