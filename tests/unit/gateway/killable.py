"""A gateway process that a test can kill: `python -m unit.gateway.killable FOLDER`; prints its URL."""

import asyncio
import sys
from pathlib import Path

from unit.gateway import kit


async def main(folder: Path) -> None:
    async with kit.serve(folder) as served:
        served.cluster.add_run()
        sys.stdout.write(served.url + "\n")
        sys.stdout.flush()
        await asyncio.sleep(120)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
