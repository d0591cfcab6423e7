"""A proxy before a server, which has faults when a test wants them: a network and a server as they are on a bad day."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum

HOST = "127.0.0.1"
_DELAY = 1.5
"""Seconds."""
_CHUNK = 1 << 16


class Kind(Enum):
    """What happens to a request."""

    REFUSED = "its connection is closed before the server has it"
    DELAYED = "it comes late"
    CUT = "the server has done it, and the connection breaks before the answer"
    UNAVAILABLE = "503, and the server never has it"
    ERROR = "500, and the server never has it"
    ERROR_AFTERWARDS = "500, though the server has done it"
    GATEWAY_TIMEOUT = "504, though the server has done it"


_STATUS = {
    Kind.UNAVAILABLE: "503 Service Unavailable",
    Kind.ERROR: "500 Internal Server Error",
    Kind.ERROR_AFTERWARDS: "500 Internal Server Error",
    Kind.GATEWAY_TIMEOUT: "504 Gateway Timeout",
}
_UNSEEN = (Kind.REFUSED, Kind.UNAVAILABLE, Kind.ERROR)
"""The server does not get the request."""


@dataclass
class Fault:
    """A fault of the requests that match: of number ``at``, counted from 1, and of ``times`` in a row."""

    kind: Kind
    request: re.Pattern[bytes]
    at: int = 1
    times: int = 1
    seen: int = 0

    @property
    def was_met(self) -> bool:
        """Whether a request has met the fault."""
        return self.seen >= self.at

    def meets(self, chunk: bytes) -> bool:
        """Whether what a client sends is a request that this fault is for. Counts."""
        if self.request.search(chunk) is None:
            return False
        self.seen += 1
        return self.at <= self.seen < self.at + self.times


class Proxy:
    """Passes bytes between clients and a server on this machine."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._fault: Fault | None = None
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    @contextmanager
    def having(self, fault: Fault) -> Iterator[Fault]:
        """The fault is there in this block."""
        with self._lock:
            self._fault = fault
        try:
            yield fault
        finally:
            with self._lock:
                self._fault = None

    @contextmanager
    def counting(self, request: re.Pattern[bytes]) -> Iterator[Fault]:
        """Counts requests, of which none meets a fault."""
        with self.having(Fault(Kind.DELAYED, request, at=1 << 30)) as fault:
            yield fault

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), name="proxied", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection((HOST, self._server))
        except OSError:
            client.close()
            return
        answers = _Answers(client, server)
        threading.Thread(target=answers.run, name="answers", daemon=True).start()
        with suppress(OSError):
            while chunk := client.recv(_CHUNK):
                kind = self._met(chunk)
                if kind is Kind.DELAYED:
                    time.sleep(_DELAY)
                elif kind in _UNSEEN:
                    answers.end(kind)
                    break
                elif kind is not None:
                    answers.instead = kind
                server.sendall(chunk)
        for each in (client, server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _met(self, chunk: bytes) -> Kind | None:
        with self._lock:
            if self._fault is not None and self._fault.meets(chunk):
                return self._fault.kind
            return None


class _Answers:
    """Passes the answers of one connection. ``instead``: what the client gets for the next one."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client, self._server = client, server
        self.instead: Kind | None = None

    def run(self) -> None:
        with suppress(OSError):
            while chunk := self._server.recv(_CHUNK):
                if self.instead is not None:
                    self.end(self.instead)
                    return
                self._client.sendall(chunk)
        with suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)

    def end(self, kind: Kind) -> None:
        """End the connection, with the status of this fault if it has one."""
        with suppress(OSError):
            if kind in _STATUS:
                self._client.sendall(
                    f"HTTP/1.1 {_STATUS[kind]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
                )
            self._client.shutdown(socket.SHUT_RDWR)
            self._server.shutdown(socket.SHUT_RDWR)
