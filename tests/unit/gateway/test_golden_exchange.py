"""The golden exchanges in `tests/golden/model/`: requests, and the very bytes a gateway answers, for any language.

`GUILDHALL_WRITE_GOLDENS=1` writes the answers anew; look at the difference before you commit it.
"""

import os
from pathlib import Path

import pytest
from guildhall_contracts.model_api import MODEL_LINES, FailureLine, GatewayError, ModelRequest, ReplyLine
from unit.gateway import kit

GOLDENS = Path(__file__).parents[2] / "golden" / "model"
CASES = {"reply": 200, "mismatch": 200, "budget": 402}


@pytest.mark.parametrize("case", CASES)
async def test_the_gateway_answers_the_golden_bytes(tmp_path: Path, case: str) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "golden.yaml").write_bytes((GOLDENS / "golden.yaml").read_bytes())
    request = (GOLDENS / f"{case}.request.json").read_bytes()
    ModelRequest.model_validate_json(request)
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run(budget={"cost_micro_usd": 1_000 if case == "budget" else 1_000_000, "tokens": 100_000})
        async with served.client() as client:
            answer = await client.post("/v1/model", content=request)
    assert answer.status_code == CASES[case]
    golden = GOLDENS / (f"{case}.ndjson" if answer.status_code == 200 else f"{case}.json")
    if os.environ.get("GUILDHALL_WRITE_GOLDENS"):
        golden.write_bytes(answer.content)
    assert answer.content == golden.read_bytes()
    assert answer.content.isascii(), "no byte can break a line or a terminal"


def test_the_golden_bytes_are_the_contracts() -> None:
    *texts, last = [MODEL_LINES.validate_json(line) for line in (GOLDENS / "reply.ndjson").read_bytes().splitlines()]
    assert isinstance(last, ReplyLine)
    assert "".join(getattr(line, "text", "") for line in texts) == last.reply.text
    assert last.reply.cost_micro_usd == 400 * 3 + 240 + 600
    failure = MODEL_LINES.validate_json((GOLDENS / "mismatch.ndjson").read_bytes())
    assert isinstance(failure, FailureLine)
    assert failure.failure.error.detail["shown"] == "x = 2\n"
    refused = GatewayError.model_validate_json((GOLDENS / "budget.json").read_bytes())
    assert refused.error.kind == "budget_exhausted"
