"""HTTP/1.1 as it is served. Guards against saying anything to a stranger who speaks something else."""

from uvicorn.protocols.http.h11_impl import H11Protocol


class OnlyHttp(H11Protocol):
    """What is no request has no path and no caller: the connection is closed without a word."""

    def send_400_response(self, msg: str) -> None:
        self.transport.close()
