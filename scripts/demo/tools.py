"""Runs the tools of the demo."""

import subprocess


class StepError(Exception):
    """A step of the demo failed; the message has the tool's own words."""


def run(
    *command: str,
    environment: dict[str, str] | None = None,
    stdin: str | None = None,
    seconds: int = 300,
    shown: bool = False,
) -> str:
    """The output of `command`. Raises StepError with its last words. With `shown` a person sees its progress."""
    try:
        done = subprocess.run(
            command, env=environment, input=stdin, stdout=subprocess.PIPE, stderr=None if shown else subprocess.PIPE,
            text=True, timeout=seconds, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise StepError(f"'{command[0]}' is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise StepError(f"`{' '.join(command[:4])} …` took longer than {seconds} s") from error
    if done.returncode:
        words = "its own message is above" if shown else (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise StepError(f"`{' '.join(command[:6])}` failed: {words}")
    return done.stdout
