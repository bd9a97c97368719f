"""Everything the operator creates, as plain JSON values from pure functions; no I/O, no clock, no text templates."""
