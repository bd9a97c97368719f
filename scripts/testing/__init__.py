"""`make test`: which stages there are, how each is run, and how what it did is counted."""
