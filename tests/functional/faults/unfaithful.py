"""A REST catalog that answers commits with 200 without making them, or refuses them as Polaris does.

It is Iceberg's own server behind a proxy that changes the bodies of commits.
"""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .proxy import HOST

_REF, _SNAPSHOT = "set-snapshot-ref", "add-snapshot"
_PER_REQUEST = ("accept-encoding", "connection", "content-length", "host", "keep-alive", "transfer-encoding")
FORBIDDEN = "This catalog does not allow it"
SEQUENCE = "Cannot add snapshot with sequence number 23 older than last sequence number 23"


class UnfaithfulCatalog:
    """Forwards the requests of clients to a REST catalog.

    ``keeps_refs``: whether it creates branches and tags. Otherwise, it behaves as Nessie 0.99: a new snapshot of a
    branch becomes the current snapshot of main. ``refused``: the number of snapshots of each table, by name, that it
    refuses with 400. ``forbidden``: statuses by patterns of what it refuses, as in ``parts_of``. ``commits``: the
    actions of each commit that it has received. ``met``: the patterns that a request has met.
    """

    def __init__(self, port: int) -> None:
        self.keeps_refs = True
        self.refused: dict[str, int] = {}
        self.forbidden: dict[str, int] = {}
        self.commits: list[list[str]] = []
        self.met: set[str] = set()
        self._catalog = port
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {key: value for key, value in self.headers.items() if key.lower() not in _PER_REQUEST}
                self.answer(*proxy.answer(self.command, self.path, headers, body))

            do_GET = do_HEAD = do_POST = do_DELETE = forward  # noqa: N815 (names of the base class)

            def answer(self, status: int, content_type: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="unfaithful", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def without_refs(self) -> Iterator[None]:
        """Create no branches and tags within this block."""
        self.keeps_refs = False
        try:
            yield
        finally:
            self.keeps_refs = True

    @contextmanager
    def forbidding(self, pattern: str, status: int = 400) -> Iterator[None]:
        """Refuse requests with such a part within this block, in which at least one must have it."""
        self.forbidden, self.met = {pattern: status}, set()
        try:
            yield
        finally:
            self.forbidden = {}
        assert self.met == {pattern}

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
        """The status, content type and body of the response to a request."""
        for pattern, status in self.forbidden.items():
            if any(re.fullmatch(pattern, part) for part in parts_of(method, path, body)):
                self.met.add(pattern)
                error = {"message": f"{FORBIDDEN}: {pattern}", "type": "Refused", "code": status}
                return status, "application/json", json.dumps({"error": error}).encode()
        if method == "POST" and "/tables/" in path:
            commit = json.loads(body)
            if self._refuses(path.rpartition("/")[2], commit):
                error = {"message": SEQUENCE, "type": "ValidationException", "code": 400}
                return 400, "application/json", json.dumps({"error": error}).encode()
            body = json.dumps(commit if self.keeps_refs else _without_refs(commit)).encode()
        request = urllib.request.Request(f"http://{HOST}:{self._catalog}{path}", body or None, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.headers.get("Content-Type") or "", response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("Content-Type") or "", error.read()

    def _refuses(self, table: str, commit: dict[str, Any]) -> bool:
        actions = [update["action"] for update in commit.get("updates", ())]
        with self._lock:
            self.commits.append(actions)
            if _SNAPSHOT not in actions or not self.refused.get(table):
                return False
            self.refused[table] -= 1
            return True


def parts_of(method: str, path: str, body: bytes) -> Iterator[str]:
    """What a request does: its method and path, and the actions and properties of a commit or a new table."""
    yield f"{method} {path.removeprefix('/v1')}"
    document = json.loads(body) if method == "POST" and body.startswith(b"{") else {}
    for update in document["updates"] if "/tables/" in path and "updates" in document else ():
        yield f"{update['action']} {update.get('type', '')}".strip()
        yield from (f"set {key}" for key in update.get("updates") or ())
    if "schema" in document:
        yield f"create {document['name']}"
        yield from (f"create {key}" for key, value in document.items() if value is not None)
        yield from (f"create with {key}" for key in document.get("properties") or ())


def _without_refs(commit: dict[str, Any]) -> dict[str, Any]:
    """A commit without changes of branches and tags. If it adds a snapshot, it sets main to it."""
    updates, adds = [], any(update["action"] == _SNAPSHOT for update in commit["updates"])
    for update in commit["updates"]:
        if update["action"] == _REF and update["ref-name"] != "main":
            if adds:
                updates.append({**update, "ref-name": "main"})
        elif update["action"] != "remove-snapshot-ref":
            updates.append(update)
    required = [each for each in commit["requirements"] if each["type"] != "assert-ref-snapshot-id"]
    return {**commit, "updates": updates, "requirements": required}
