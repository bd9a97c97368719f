"""Which provider answers a gateway model, `<provider>:<name>`; a replaced key is used from the next call on.

Guards against a provider that is made twice, by the thread that warms it and by a first call: nobody would close one.
"""

import threading
from pathlib import Path

from guildhall_gateway.config import Config
from guildhall_gateway.providers.base import Provider
from guildhall_gateway.providers.scripted import SCRIPTED, ScriptedProvider


class Providers:
    """Providers by the word before the colon; made when first asked for, so that no SDK is imported in vain."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._scripted = ScriptedProvider(Path(config.scenarios_dir))
        self._real: dict[str, tuple[str | None, Provider]] = {}  # each with the key it was made with
        self._making = threading.Lock()
        self._former: list[Provider] = []  # those whose key was replaced; calls may still be using them

    def warm(self) -> None:
        """Make the providers that are allowed by name; in a thread, for importing an SDK takes a second."""
        for pattern in self._config.models.allow:
            name = pattern.partition(":")[0]
            if "*" not in name:
                self.find(f"{name}:any")

    async def close(self) -> None:
        """Close the connections to every provider that was asked."""
        for provider in (*(made for _, made in self._real.values()), *self._former):
            await provider.close()

    def find(self, model: str) -> Provider | None:
        """The provider of `model`, or None when there is no key or URL for it."""
        name = model.partition(":")[0]
        if name == SCRIPTED:
            return self._scripted
        from guildhall_gateway.providers.pydantic_ai import connect, key_of  # noqa: PLC0415  heavy, and often unused

        folder = Path(self._config.providers_dir)
        with self._making:  # whoever comes second waits no longer than for the import, which it would wait for anyway
            key = key_of(name, folder)
            made_with, made = self._real.get(name, (None, None))
            if made is None or key != made_with:
                urls, whole = dict(self._config.base_urls), name in self._config.models.whole_replies
                self._retire(name)
                made = connect(name, folder, urls, whole=whole)
                if made is not None:
                    self._real[name] = key, made
        return made

    def _retire(self, name: str) -> None:
        """A provider whose key was replaced or taken away answers no new call."""
        former = self._real.pop(name, None)
        if former is not None:
            self._former.append(former[1])
