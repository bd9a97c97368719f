"""The gateway: the one service an executor can reach.

Pure: `approvals`, `belonging`, `budget`, `mailbox`, `prices`, `problems`, `runs`, `scenario` (its command apart),
`tool_policy`, `views`, and of `adapters` and `providers` what judges, words and translates; the contract `gateway-pure`
in `.importlinter` has them all, and none does I/O or knows a clock. Doers: every other. `gateway` and `app` wire;
`__main__` starts it.

No module here reads a workspace or a pod's log. Secrets are read through the API server by `watch` alone: those a
Connection names, where the chart lets it.
"""
