"""Which provider answers a gateway model, `<provider>:<name>`."""

from pathlib import Path

from guildhall_gateway.config import Config
from guildhall_gateway.providers.base import Provider
from guildhall_gateway.providers.scripted import SCRIPTED, ScriptedProvider


class Providers:
    """Providers by the word before the colon; made when first asked for, so that no SDK is imported in vain."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._scripted = ScriptedProvider(Path(config.scenarios_dir))
        self._real: dict[str, Provider] = {}

    def warm(self) -> None:
        """Make the providers that are allowed by name; in a thread, for importing an SDK takes a second."""
        for pattern in self._config.models.allow:
            name = pattern.partition(":")[0]
            if "*" not in name:
                self.find(f"{name}:any")

    async def close(self) -> None:
        """Close the connections to every provider that was asked."""
        for provider in self._real.values():
            await provider.close()

    def find(self, model: str) -> Provider | None:
        """The provider of `model`, or None when there is no key or URL for it."""
        name = model.partition(":")[0]
        if name == SCRIPTED:
            return self._scripted
        if name not in self._real:
            from guildhall_gateway.providers.pydantic_ai import connect  # noqa: PLC0415  heavy, and often unused

            urls, whole = dict(self._config.base_urls), name in self._config.models.whole_replies
            found = connect(name, Path(self._config.providers_dir), urls, whole=whole)
            if found is None:
                return None
            self._real[name] = found
        return self._real[name]
