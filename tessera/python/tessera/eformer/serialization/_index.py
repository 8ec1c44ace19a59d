"""tensorstore_index.json, for what is written and read through path objects.

tessera's own saves write it in C++, in one commit with the arrays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ... import __version__, _core

INDEX_NAME = "tensorstore_index.json"
WRITER_VERSION = f"tessera-{__version__}"


def prefix_components(prefix: str | None) -> list[str]:
    """The folders of a prefix: dots and slashes separate them."""
    return prefix.replace(".", "/").split("/") if prefix else []


def stored_path(prefix: str | None, components: Sequence[str]) -> str:
    """Where an array lies below the checkpoint's folder."""
    return _core.encode_stored_path([*prefix_components(prefix), *components])


def array_record(prefix: str | None, components: Sequence[str], array: Any) -> dict[str, Any]:
    """What the index says of one array."""
    path = stored_path(prefix, components)
    record: dict[str, Any] = {
        "path": path,
        "shape": [int(size) for size in array.shape],
        "dtype": str(array.dtype),
    }
    key = [*prefix_components(prefix), *components]
    if path.split("/") != key:
        record["key"] = key
    return record


def key_of(record: dict[str, Any], prefix: str | None) -> list[str]:
    """The components of an array's key, without the prefix."""
    path = "" if record["path"] == "." else record["path"]
    key = list(record.get("key") or ([part for part in path.split("/")] if path else []))
    for start in ([prefix], prefix_components(prefix)):
        if prefix and key[: len(start)] == start:
            return key[len(start):]
    return key


def read_index(path: Any) -> dict[str, Any]:
    """The index at a path object.  FileNotFoundError, ValueError with the path for what is none."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no index")
    try:
        index = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    if not isinstance(index, dict) or index.get("format") != "tensorstore":
        found = index.get("format") if isinstance(index, dict) else type(index).__name__
        raise ValueError(f"{path}: expected the format 'tensorstore', found {found!r}")
    return index


def records_of(index: dict[str, Any], prefix: str | None) -> list[dict[str, Any]]:
    """The records of a prefix.

    ValueError, with those that there are, for an unknown one, and for what are no records.
    """
    prefixes = index.get("prefixes")
    if prefixes is None or (not prefix and "arrays" in index):
        return _checked(index.get("arrays", []))
    if not isinstance(prefixes, dict):
        raise ValueError(f"prefixes: expected an object, found {type(prefixes).__name__}")
    if prefix:
        if prefix not in prefixes:
            raise ValueError(f"the index has no prefix {prefix!r}; known are {sorted(prefixes)}")
        return _checked(prefixes[prefix])
    if len(prefixes) == 0:
        return []
    raise ValueError(f"no prefix was given; the index has {sorted(prefixes)}")


def _checked(records: Any) -> list[dict[str, Any]]:
    """The records, if they are such and none leads out of the checkpoint."""
    if not isinstance(records, list):
        raise ValueError(f"the index: expected a list of arrays, found {type(records).__name__}")
    for number, record in enumerate(records):
        path = record.get("path") if isinstance(record, dict) else None
        if not isinstance(path, str) or not isinstance(record.get("shape"), list):
            raise ValueError(f"the index: array {number} has no path or no shape")
        if path.startswith("/") or ".." in path.split("/"):
            raise ValueError(f"the index: array {number}: {path!r} leads out of the checkpoint")
    return records


def add_to_index(root: Any, prefix: str | None, records: list[dict[str, Any]]) -> None:
    """Puts the records of a prefix into the index below a path object, which is made if need be."""
    path = root / INDEX_NAME
    index: dict[str, Any] = {"format": "tensorstore", "version": WRITER_VERSION, "prefixes": {}}
    if path.exists():
        index = read_index(path)
    if prefix:
        index.setdefault("prefixes", {})[prefix] = records
    else:
        index["arrays"] = records
    manifest = _forget_note(index, prefix)
    path.write_text(json.dumps(index, indent=2))
    if manifest is not None:
        (root / manifest).unlink(missing_ok=True)


def _forget_note(index: dict[str, Any], prefix: str | None) -> str | None:
    """Takes out what a save of tessera's has noted of the list that is replaced.

    Gives the manifest that the note names, which vouches for arrays that are no longer there.
    """
    notes = index.get("tessera")
    of_prefixes = notes.get("prefixes") if isinstance(notes, dict) else None
    holder = of_prefixes if prefix else notes
    note = holder.pop(prefix or "arrays", None) if isinstance(holder, dict) else None
    manifest = note.get("manifest") if isinstance(note, dict) else None
    if isinstance(manifest, str) and re.fullmatch(r"\.tessera/manifests/[^/]+\.json", manifest):
        return manifest
    return None
