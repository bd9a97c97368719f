"""mini-swe-agent's own loop against a model behind plain HTTP; run by the Python it is installed for.

    python mini_agent.py URL

As it comes: its default agent and local environment, nothing written to disk.
"""

import http.client
import json
import sys
from typing import Any
from urllib.parse import urlsplit

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.test_models import DeterministicModel, make_output


class HttpModel(DeterministicModel):
    """Sends the whole conversation, as every model class does, over one kept connection."""

    def __init__(self, url: str) -> None:
        super().__init__(outputs=[])
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc)

    def query(self, messages: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
        body = [{"role": message["role"], "content": message["content"]} for message in messages]
        self._connection.request("POST", "/", json.dumps({"messages": body}).encode())
        answer = json.loads(self._connection.getresponse().read())
        return make_output(answer["text"], [{"command": answer["command"]}], cost=0.0)


def main() -> None:
    agent = DefaultAgent(
        HttpModel(sys.argv[1]),
        LocalEnvironment(),
        system_template="You are the solo.",
        instance_template="{{task}}",
        cost_limit=0.0,
    )
    agent.run("Make the tests pass.")


if __name__ == "__main__":
    main()
