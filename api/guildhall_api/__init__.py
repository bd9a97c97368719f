"""Reads the logs of Runs into InteractionModels and serves them. `model` and `fold` are pure: no I/O, no clock."""

VERSION = "0.1.0"
