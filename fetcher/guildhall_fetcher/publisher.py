"""`python -m guildhall_fetcher.publisher`: pushes what `GUILDHALL_PUBLISH` names."""

import sys

from guildhall_fetcher.stopping import listen

if __name__ == "__main__":
    listen()  # before the imports, which take most of the start
    from guildhall_fetcher.publish_program import main

    sys.exit(main())
