"""Where intents are kept, so that a retry after a restart is still the same intent."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from .errors import ClientError

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
    """Records by the name of their intent. Every method may raise :class:`ClientError` with the code ``store_failed``."""

    def get(self, name: str) -> Record | None:
        """The record, if there is one."""
        ...

    def add(self, name: str, record: Record) -> Record:
        """Keeps the record unless there is one already, in one step, and returns the one that is kept."""
        ...

    def put(self, name: str, record: Record) -> None:
        """Keeps the record, in place of another or not. Durable when it returns, if the store is."""
        ...

    def remove(self, name: str) -> None:
        """Forgets the name. One that is not there is no error."""
        ...


class MemoryStore:
    """Keeps records as long as the process lives."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._guard = threading.Lock()

    def get(self, name: str) -> Record | None:
        with self._guard:
            return self._records.get(name)

    def add(self, name: str, record: Record) -> Record:
        with self._guard:
            return self._records.setdefault(name, record)

    def put(self, name: str, record: Record) -> None:
        with self._guard:
            self._records[name] = record

    def remove(self, name: str) -> None:
        with self._guard:
            self._records.pop(name, None)


class FolderStore:
    """Keeps each record in a file of its own, synced before the first sending. Many processes may share the folder.

    The folder has to be on a file system of this machine that knows hard links. A file's name is a digest of the intent's.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _failed(error) from error

    def get(self, name: str) -> Record | None:
        path = self._path(name)
        try:
            with path.open("rb") as file:
                text = file.read(RECORD_BYTES_MAX + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _failed(error) from error
        return _record_of(text, path)

    def add(self, name: str, record: Record) -> Record:
        written = self._write(record)
        try:
            # A link, unlike a renaming, refuses to take the place of what is there.
            os.link(written, self._path(name))
        except FileExistsError:
            there = self.get(name)
            if there is None:
                raise _failed(f"{self._path(name)} came and went") from None
            return there
        except OSError as error:
            raise _failed(error) from error
        finally:
            os.unlink(written)
        self._sync_folder()
        return record

    def put(self, name: str, record: Record) -> None:
        written = self._write(record)
        try:
            os.replace(written, self._path(name))
        except OSError as error:
            raise _failed(error) from error
        self._sync_folder()

    def remove(self, name: str) -> None:
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            raise _failed(error) from error

    def _path(self, name: str) -> Path:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest}.json"

    def _write(self, record: Record) -> str:
        try:
            handle, path = tempfile.mkstemp(prefix="new-", dir=self._folder)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"version": 1, **asdict(record)}, file)
                file.flush()
                os.fsync(file.fileno())
            return path
        except OSError as error:
            raise _failed(error) from error

    def _sync_folder(self) -> None:
        if os.name == "nt":
            return  # Windows can't open a folder; its file system keeps names in a journal of its own.
        try:
            handle = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
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
