"""What external tools a Run is offered: those its own Guild lists and a Connection of its namespace has now.

Guards against rights by a Guild that was changed since the Run was frozen, and against "there is none" being said where
it is only not known yet.
"""

from guildhall_contracts import limits
from guildhall_contracts.canonical import NotCanonical, digest
from guildhall_contracts.external import ExternalTool, ExternalTools
from guildhall_contracts.guild import GuildSpec
from guildhall_contracts.model_api import ModelRequest
from guildhall_contracts.policy import is_external
from pydantic import ValidationError

from guildhall_gateway.adapters.connections import Connections
from guildhall_gateway.adapters.kept import Kept
from guildhall_gateway.adapters.listing import Offer, model_description
from guildhall_gateway.problems import Refused, lagging
from guildhall_gateway.runs import RunSource, RunView
from guildhall_gateway.tool_policy import Rights, denied, external_names
from guildhall_gateway.tool_store import ToolStore


class OfferedTools:
    """Serves `GET /v1/tools`, and says what a call may be made of."""

    def __init__(self, store: ToolStore, source: RunSource, connections: Connections) -> None:
        self._store = store
        self._source = source
        self._connections = connections

    async def rights(self, run: RunView) -> Rights:
        """The Run's own rights, by the Guild it was frozen with. Raises Refused."""
        kept = await self._store.guild(run.uid)
        if kept is None:
            kept = self._frozen(run)
            await self._store.freeze(run.uid, kept)
        return Rights(run, kept)

    def _frozen(self, run: RunView) -> GuildSpec:
        """The Guild with the digest the operator recorded for this Run; any other one gives no rights."""
        if run.guild_digest is None:
            raise Refused(lagging("the Guild in this Run's status"))
        view = self._source.guild(run.namespace, run.guild_ref) if run.guild_ref else None
        raw = run.guild or (view.spec if view else None)
        try:
            guild = GuildSpec.model_validate(raw)
            same = digest(guild) == run.guild_digest
        except (ValidationError, NotCanonical):
            same = False
        if not same:
            text = (
                "the Guild was changed while this Run was starting, so its external tools are not known; start it again"
            )
            raise Refused(denied("tool_denied", text))
        return guild

    async def list_tools(self, run: RunView) -> ExternalTools:
        """What roles of this Run may be offered. Raises Refused."""
        offers, unlisted = self.offers(run)
        if not offers and not unlisted:
            return ExternalTools()
        rights = await self.rights(run)
        for name in external_names(rights.guild):
            require_listed(name, unlisted)
        tools = []
        for name in external_names(rights.guild):
            kept, offer = offers.get(name, (None, None))
            policy = rights.policy(name, offer) if offer else None
            if kept and offer and policy:
                text = model_description(kept.view.name, offer)
                tools.append(ExternalTool(name=name, description=text, parameters=offer.parameters, policy=policy))
        return ExternalTools(tools=tools[: limits.EXTERNAL_TOOLS_PER_RUN_MAX_COUNT])

    def offers(self, run: RunView) -> tuple[dict[str, tuple[Kept, Offer]], set[str]]:
        """What is offered now, by name, and the Connections whose server was not listed yet. Raises Refused."""
        if not self._source.ready():
            raise Refused(lagging("the connections of this namespace"))
        return self._connections.offers(run.namespace), self._connections.unseen(run.namespace)

    def shown(self, run: RunView, request: ModelRequest) -> ModelRequest:
        """The request without the external tools nobody offers any more."""
        if not self._source.ready() or not any(is_external(tool.name) for tool in request.tools):
            return request  # what is not known to be gone stays; its calls are judged one by one
        offers, unlisted = self.offers(run)
        kept = [
            tool
            for tool in request.tools
            if not is_external(tool.name) or tool.name in offers or connection_of(tool.name) in unlisted
        ]
        return request if len(kept) == len(request.tools) else request.model_copy(update={"tools": kept})


def require_listed(tool: str, unlisted: set[str]) -> None:
    """Raises Refused, to be asked again, where the tool's Connection was not listed yet."""
    if connection_of(tool) in unlisted:
        raise Refused(lagging(f"the tools of connection '{connection_of(tool)}'"))


def connection_of(tool: str) -> str:
    """The Connection of an external tool's name."""
    return tool.partition("__")[0]
