"""The gateway: the one service an executor can reach.

Pure: `budget`, `approvals`, `identity`, `runs`, `scenario`, `prices`. Nothing there reads a clock, a socket or a file.
I/O: `kube`, `watch`, `store` and what stands on it, `providers`. `app` wires; `__main__` starts it.
No module here reads a workspace, a pod's log or a Secret through the API server.
"""
