"""A proxy in front of a server. It simulates faults of the network and the server when a test requests them."""

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
DELAY = 1.0
"""Additional seconds that a slow server takes."""
PATIENCE = 4
"""Seconds after which the clients in the tests time out."""
_CHUNK = 1 << 16
_KEPT = 4096
"""The number of bytes of a request that are recorded."""


class Kind(Enum):
    """What happens to a request."""

    REFUSED = "its connection is closed before the server has it"
    HALF_SENT = "its connection breaks while it is sent"
    DELAYED = "it comes late"
    AFTER_TIMEOUT = "it comes when the client has given up"
    CUT = "the server has done it, and the connection breaks before the answer"
    HALF_ANSWERED = "the server has done it, and the connection breaks within the answer"
    DOWN = "from now on the server takes no connection"
    UNAVAILABLE = "503, and the server never has it"
    UNAVAILABLE_AFTERWARDS = "503, though the server has done it"
    ERROR = "500, and the server never has it"
    ERROR_AFTERWARDS = "500, though the server has done it"
    GATEWAY_TIMEOUT = "504, though the server has done it"


_UNAVAILABLE = "503 Service Unavailable\r\nRetry-After: 1"
_STATUS = {
    Kind.UNAVAILABLE: _UNAVAILABLE,
    Kind.UNAVAILABLE_AFTERWARDS: _UNAVAILABLE,
    Kind.ERROR: "500 Internal Server Error",
    Kind.ERROR_AFTERWARDS: "500 Internal Server Error",
    Kind.GATEWAY_TIMEOUT: "504 Gateway Timeout",
}
_UNSEEN = (Kind.REFUSED, Kind.HALF_SENT, Kind.DOWN, Kind.UNAVAILABLE, Kind.ERROR)
"""The faults under which the server does not receive the complete request."""
_LATE = {Kind.DELAYED: DELAY, Kind.AFTER_TIMEOUT: PATIENCE + 1}

OF_ANY_SERVER = tuple(kind for kind in Kind if kind not in _STATUS)
"""Faults for any protocol. All others answer over HTTP."""


@dataclass
class Fault:
    """A fault of matching requests, from number ``at``, counted from 1, for ``times`` requests in a row."""

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
        """Whether a chunk from a client is a request that this fault affects. Counts matching requests."""
        if self.request.search(chunk) is None:
            return False
        self.seen += 1
        return self.at <= self.seen < self.at + self.times

    def __str__(self) -> str:
        met = "" if self.was_met else " (not met)"
        return f"{self.kind.name}{met} at {self.at}, {self.times} times, {self.request.pattern!r}"


class Proxy:
    """Forwards bytes between clients and a server on this machine."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._lock = threading.Condition()
        self._faults: tuple[Fault, ...] = ()
        self._requests: list[bytes] | None = None
        self._waiting = 0
        self._clients: set[socket.socket] = set()
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._start()

    @contextmanager
    def having(self, *faults: Fault) -> Iterator[None]:
        """Apply the faults within this block. It ends once no delayed request is left."""
        with self._lock:
            self._faults = faults
        try:
            yield
        finally:
            with self._lock:
                self._faults = ()
                self._lock.wait_for(lambda: not self._waiting)
                if self._listener.fileno() < 0:
                    self._listener = socket.create_server((HOST, self.port))
                    self._start()

    @contextmanager
    def recording(self) -> Iterator[list[bytes]]:
        """Record the beginning of each request that clients send within this block."""
        with self._lock:
            requests: list[bytes] = []
            self._requests = requests
        try:
            yield requests
        finally:
            with self._lock:
                self._requests = None

    def close(self) -> None:
        """Accept no more connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # also wakes a thread that waits for a connection
        self._listener.close()

    def _start(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), name="proxy", daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client,), name="proxied", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection((HOST, self._server))
        except OSError:
            client.close()
            return
        with self._lock:
            self._clients.add(client)
        answers = _Answers(client, server)
        threading.Thread(target=answers.run, name="answers", daemon=True).start()
        with suppress(OSError):
            while chunk := client.recv(_CHUNK):
                kind = self._met(chunk)
                if kind in _LATE:
                    self._wait(_LATE[kind])
                elif kind in _UNSEEN:
                    if kind is Kind.HALF_SENT:
                        server.sendall(chunk[: len(chunk) // 2])
                    answers.end(kind)
                    break
                elif kind is not None:
                    answers.instead = kind
                server.sendall(chunk)
        with self._lock:
            self._clients.discard(client)
        for each in (client, server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _met(self, chunk: bytes) -> Kind | None:
        with self._lock:
            if self._requests is not None:
                self._requests.append(chunk[:_KEPT])
            met = [fault.kind for fault in self._faults if fault.meets(chunk)]
            if Kind.DOWN in met:
                self.close()
                for client in self._clients:
                    with suppress(OSError):
                        client.shutdown(socket.SHUT_RDWR)
            return met[0] if met else None

    def _wait(self, seconds: float) -> None:
        with self._lock:
            self._waiting += 1
        time.sleep(seconds)
        with self._lock:
            self._waiting -= 1
            self._lock.notify_all()


class _Answers:
    """Forwards the responses of one connection. ``instead``: the fault that replaces the next response."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client, self._server = client, server
        self.instead: Kind | None = None

    def run(self) -> None:
        with suppress(OSError):
            while chunk := self._server.recv(_CHUNK):
                # 100 Continue requests the rest of the request, so the server has not executed it yet
                if self.instead is not None and not chunk.startswith(b"HTTP/1.1 100"):
                    if self.instead is Kind.HALF_ANSWERED:
                        self._client.sendall(chunk[: len(chunk) // 2])
                    self.end(self.instead)
                    return
                self._client.sendall(chunk)
        with suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)

    def end(self, kind: Kind) -> None:
        """End the connection, with the HTTP status of this fault if it has one."""
        with suppress(OSError):
            if kind in _STATUS:
                self._client.sendall(
                    f"HTTP/1.1 {_STATUS[kind]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
                )
            self._client.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
