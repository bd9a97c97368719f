"""What can go wrong in building an image."""


class ImageError(Exception):
    """A build step failed or a tool is missing; the message says which, and what to do."""
