"""Writes what is derived from the contracts: CRDs, JSON Schemas, the console's constants, the table of records.

The only part of `contracts` that reads and writes files; nothing at run time imports it. Output is deterministic, and
`python -m guildhall_contracts.generate --check` compares it with what is committed.
"""
