"""The log of ``watch``: lines in addition to dbt's own lines, or JSON in dbt's format."""

from __future__ import annotations

import json
import sys
import threading
from datetime import datetime, timezone
from typing import Any, TextIO


class Log:
    """Writes events to a stream, stdout by default, from any thread."""

    def __init__(self, *, as_json: bool = False, stream: TextIO | None = None) -> None:
        self._as_json = as_json
        self._stream = stream or sys.stdout
        self._lock = threading.Lock()

    def event(self, event: str, message: str, **data: Any) -> None:
        """Log an event at the level info, with its name, message and data."""
        self._write("info", event, message, data)

    def problem(self, event: str, message: str, **data: Any) -> None:
        """Log an event at the level error."""
        self._write("error", event, message, data)

    def _write(self, level: str, event: str, message: str, data: dict[str, Any]) -> None:
        now = datetime.now(timezone.utc)
        if self._as_json:
            info = {"name": event, "level": level, "msg": message, "ts": now.isoformat().replace("+00:00", "Z")}
            line = json.dumps({"data": data, "info": info})
        else:
            line = f"{now.astimezone():%H:%M:%S}  {message}"
        with self._lock:
            self._stream.write(f"{line}\n")
            self._stream.flush()
