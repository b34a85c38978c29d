"""Where intents are kept, so that a retry after a restart is still the same intent."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .errors import ClientError

if TYPE_CHECKING:
    import fcntl
    from collections.abc import Iterator
else:
    try:
        import fcntl
    except ImportError:
        fcntl = None

#: Nothing has happened: never sent, or every attempt was refused.
NEW = "new"
#: It was sent, and may have happened.
SENT = "sent"
#: It has happened.
DONE = "done"

#: The longest file that is read as a record, in bytes.
RECORD_BYTES_MAX = 4_096


@dataclass(frozen=True)
class Record:
    """What has to outlive a retry. The body is not in it, for it may hold what should not lie about: only its digest is."""

    key: str
    #: Milliseconds since 1970.
    expires_at: int
    digest: str
    state: str


class IntentStore(Protocol):
    """Records by the name of their intent. Both methods may raise :class:`ClientError` with the code ``store_failed``."""

    def get(self, name: str) -> Record | None:
        """The record, if there is one."""
        ...

    def swap(self, name: str, old: Record | None, new: Record | None) -> bool:
        """Keeps ``new`` in the place of ``old``, in one step; none stands for no record. Durable when it returns, if the store is.

        False, and nothing is changed, if what is kept is not ``old``: somebody else was faster.
        """
        ...


class MemoryStore:
    """Keeps records as long as the process lives."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._guard = threading.Lock()

    def get(self, name: str) -> Record | None:
        with self._guard:
            return self._records.get(name)

    def swap(self, name: str, old: Record | None, new: Record | None) -> bool:
        with self._guard:
            if self._records.get(name) != old:
                return False
            if new is None:
                self._records.pop(name, None)
            else:
                self._records[name] = new
            return True


class FolderStore:
    """Keeps each record in a file of its own, synced before the first sending. Processes of this machine may share the folder.

    A file's name is a digest of the intent's. It needs a system with ``flock``, so not Windows.
    """

    def __init__(self, folder: str | Path) -> None:
        if fcntl is None:
            raise _failed("this system has no flock")
        self._folder = Path(folder)
        with _told():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def get(self, name: str) -> Record | None:
        path = self._path(name)
        with _told():
            try:
                with path.open("rb") as file:
                    text = file.read(RECORD_BYTES_MAX + 1)
            except FileNotFoundError:
                return None
        return _record_of(text, path)

    def swap(self, name: str, old: Record | None, new: Record | None) -> bool:
        path = self._path(name)
        with _told(), (self._folder / "lock").open("ab") as alone:
            # It ends with the file, and so with the process, however that ends.
            fcntl.flock(alone, fcntl.LOCK_EX)
            if self.get(name) != old:
                return False
            if new is not None:
                self._write(new, path)
            elif old is not None:
                path.unlink()
            self._sync_folder()
            return True

    def _path(self, name: str) -> Path:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest}.json"

    def _write(self, record: Record, path: Path) -> None:
        handle, written = tempfile.mkstemp(prefix="new-", dir=self._folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"version": 1, **asdict(record)}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(written, path)
        except BaseException:
            os.unlink(written)
            raise

    def _sync_folder(self) -> None:
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failed(error) from error


def _record_of(text: bytes, path: Path) -> Record:
    try:
        members = json.loads(text) if len(text) <= RECORD_BYTES_MAX else None
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict) or members.pop("version", None) != 1:
        raise _failed(f"{path} is no record of this version")
    strings = all(isinstance(members.get(name), str) for name in ("key", "digest", "state"))
    if set(members) != {"key", "expires_at", "digest", "state"} or not strings or type(members["expires_at"]) is not int:
        raise _failed(f"{path} is no record of this version")
    if members["state"] not in (NEW, SENT, DONE):
        raise _failed(f"{path} is no record of this version")
    return Record(**members)


def _failed(error: object) -> ClientError:
    return ClientError(
        "store_failed", f"The store of intents can't be used: {error}", "Mend the store; a key that is made anew would be another intent"
    )
