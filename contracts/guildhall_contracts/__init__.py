"""The nouns every Guildhall component agrees on.

This package holds records, closed enumerations, bounds, and total decoders. It does no I/O, reads no clock, draws
no random numbers and imports no other Guildhall package; import-linter holds that.
"""
