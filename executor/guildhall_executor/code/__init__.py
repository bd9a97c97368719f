"""Model-written code: a process of its own that can reach nothing, and how the executor talks to it.

`worker`, `confine`, `landlock`, `seccomp` and `wire` run in that process and import neither pydantic nor the
contracts; `pool` and `runner` run in the executor, which never imports the interpreter.
"""
