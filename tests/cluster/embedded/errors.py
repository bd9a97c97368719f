"""What can go wrong, by who must act."""


class RefusalError(Exception):
    """The machine cannot host the cluster as it is; the message says what to change. Exit code 2."""


class StepError(Exception):
    """A step that should have worked did not; the message names the log to read. Exit code 1."""
