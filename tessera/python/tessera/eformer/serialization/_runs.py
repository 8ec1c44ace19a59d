"""The folders of a run: metadata.json, which says that a step is complete, and deleting a step."""

from __future__ import annotations

import datetime as dt
import json
import logging
import re
import shutil
from pathlib import Path
from typing import Any

from .._local_path import LocalPath
from . import fsspec_utils
from ._index import INDEX_NAME

logger = logging.getLogger(__name__)

RUN_METADATA_NAME = "metadata.json"
# Lies in a folder from before anything of it is deleted until after everything is.
_MARK = ".tessera/step.json"
_DELETING = '{"schema": 1, "state": "deleting"}'
_LONG_AGO = dt.datetime.min.replace(tzinfo=dt.timezone.utc)


def step_of(folder: str) -> int | None:
    """The step of a folder run-<step>; None for other names."""
    found = re.fullmatch(r"run-(0|[1-9][0-9]*)", str(folder).rstrip("/").rpartition("/")[2])
    return None if found is None else int(found[1])


def read_run_metadata(folder: str) -> dict[str, Any]:
    """What metadata.json of a folder says.  FileNotFoundError without one, ValueError if broken."""
    path = fsspec_utils.join_path(folder, RUN_METADATA_NAME)
    try:
        metadata = json.loads(_read(path))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    if not isinstance(metadata, dict):
        raise ValueError(f"{path}: expected an object, found {type(metadata).__name__}")
    return metadata


def write_run_metadata(folder: str, step: int, is_temporary: bool) -> None:
    """Says that a folder is a complete step.

    The time is there twice: as eformer writes it, local and without a zone, as eformer cannot
    compare times with a zone to its own; and in UTC, which is what counts here.
    """
    now = dt.datetime.now(dt.timezone.utc)
    metadata = {
        "step": step,
        "timestamp": now.astimezone().replace(tzinfo=None).isoformat(),
        "timestamp_utc": now.isoformat(),
        "is_temporary": is_temporary,
    }
    _write(fsspec_utils.join_path(folder, RUN_METADATA_NAME), json.dumps(metadata).encode())


def find_latest_checkpoint(base_path: str) -> str | None:
    """The complete checkpoint with the greatest (time, step) directly below a path, or the path.

    One whose metadata cannot be read comes last; None: there is no checkpoint.
    """
    base_path = str(base_path)
    candidates = [path for path in [*folders_in(base_path), base_path] if _is_complete(path)]
    return max(candidates, key=_age, default=None)


def _is_complete(folder: str) -> bool:
    path = fsspec_utils.join_path(folder, RUN_METADATA_NAME)
    return fsspec_utils.exists(path) and not is_being_deleted(folder)


def _age(folder: str) -> tuple[dt.datetime, int]:
    try:
        metadata = read_run_metadata(folder)
        written = metadata.get("timestamp_utc") or metadata.get("timestamp", "1970-01-01T00:00:00")
        time = dt.datetime.fromisoformat(written)
        # A time without a zone is that of this machine.
        return time.astimezone(dt.timezone.utc), int(metadata.get("step", -1))
    except (OSError, ValueError, TypeError, OverflowError) as error:
        logger.warning("%s: its metadata cannot be used: %s", folder, error)
        return _LONG_AGO, -1


def folders_in(base_path: str) -> list[str]:
    """The folders directly below a path, sorted; none when it is not there."""
    if not fsspec_utils.is_remote_path(base_path):
        base = Path(fsspec_utils.plain_path(base_path))
        if not base.is_dir():
            return []
        return sorted(str(path) for path in base.iterdir() if path.is_dir())
    filesystem, path = fsspec_utils.url_to_fs(base_path)
    scheme = fsspec_utils.path_protocol(base_path)
    try:
        entries = filesystem.ls(path, detail=True)
    except FileNotFoundError:
        return []
    return sorted(f"{scheme}://{e['name']}" for e in entries if e["type"] == "directory")


def is_being_deleted(folder: str) -> bool:
    """Whether a deletion was begun, which is then to be ended."""
    if fsspec_utils.is_remote_path(folder):
        return False
    mark = Path(fsspec_utils.plain_path(folder)) / _MARK
    return mark.is_file() and mark.read_bytes() == _DELETING.encode()


def delete_step(folder: str) -> None:
    """Deletes a checkpoint so that it can be interrupted anywhere, and called again.

    It stops being one before anything of it is gone.
    """
    if fsspec_utils.is_remote_path(folder):
        for name in (RUN_METADATA_NAME, INDEX_NAME):
            path = fsspec_utils.join_path(folder, name)
            if fsspec_utils.exists(path):
                fsspec_utils.remove(path)
        fsspec_utils.remove(folder, recursive=True)
        return
    root = Path(fsspec_utils.plain_path(folder))
    LocalPath(root / _MARK).write_text(_DELETING)
    for name in (RUN_METADATA_NAME, INDEX_NAME):
        (root / name).unlink(missing_ok=True)
    for path in [*root.iterdir(), *(root / _MARK).parent.iterdir()]:
        if path not in (root / _MARK, (root / _MARK).parent):
            _remove(path)
    shutil.rmtree(root)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _read(path: str) -> bytes:
    if not fsspec_utils.is_remote_path(path):
        return LocalPath(fsspec_utils.plain_path(path)).read_bytes()
    filesystem, plain = fsspec_utils.url_to_fs(path)
    with filesystem.open(plain, "rb") as file:
        return file.read()


def _write(path: str, data: bytes) -> None:
    if not fsspec_utils.is_remote_path(path):
        LocalPath(fsspec_utils.plain_path(path)).write_bytes(data)
        return
    filesystem, plain = fsspec_utils.url_to_fs(path)
    with filesystem.open(plain, "wb") as file:
        file.write(data)
