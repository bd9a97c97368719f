"""`python -m guildhall_fetcher`: fetches what `GUILDHALL_FETCH` names."""

import sys

from guildhall_fetcher.stopping import listen

if __name__ == "__main__":
    listen()  # before the imports, which take most of the start
    from guildhall_fetcher.fetch_program import main

    sys.exit(main())
