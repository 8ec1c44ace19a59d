"""checkpoint_metadata.json: who wrote a checkpoint and when, checksums, and the caller's own."""

from __future__ import annotations

import datetime
import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _core, _place
from . import _kinds
from ._side_files import Files
from ._index import WRITER_VERSION

logger = logging.getLogger(__name__)

METADATA_NAME = "checkpoint_metadata.json"


def utc_now() -> str:
    """The time with its zone, in ISO 8601."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


@dataclass
class CheckpointMetadata:
    """What is kept beside the arrays of a checkpoint.  Arrays go by their dotted keys."""

    version: str = WRITER_VERSION
    timestamp: str | None = None
    checksum: dict[str, str] | None = None
    array_metadata: dict[str, dict] | None = None
    framework_version: str | None = None
    custom_metadata: dict | None = None

    def to_dict(self) -> dict[str, Any]:
        """As it is written; a missing time is now."""
        return {
            "version": self.version,
            "timestamp": self.timestamp or utc_now(),
            "checksum": self.checksum or {},
            "array_metadata": self.array_metadata or {},
            "framework_version": self.framework_version,
            "custom_metadata": self.custom_metadata or {},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CheckpointMetadata:
        """From what `to_dict` gave; fields may be missing, and safetensors has them as text."""
        return cls(
            version=data.get("version", WRITER_VERSION),
            timestamp=data.get("timestamp"),
            checksum=_object(data, "checksum"),
            array_metadata=_object(data, "array_metadata"),
            framework_version=data.get("framework_version"),
            custom_metadata=_object(data, "custom_metadata"),
        )


def _object(data: Mapping[str, Any], field: str) -> dict:
    value = data.get(field, {})
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"metadata: {field} is not JSON: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"metadata: {field}: expected an object, found {type(value).__name__}")
    return value


def metadata_file_name(prefix: str | None) -> str:
    """The file of one prefix; the other one is that of the last save, whatever its prefix."""
    return f"{prefix or 'pytree'}_metadata.json"


def encode_metadata(metadata: CheckpointMetadata) -> bytes:
    """The file's bytes.  TypeError for custom metadata that JSON cannot hold."""
    try:
        return json.dumps(metadata.to_dict()).encode()
    except TypeError as error:
        raise TypeError(f"metadata: {error}") from error


def read_metadata(files: Files, prefix: str | None) -> dict[str, Any]:
    """What is kept of a prefix; empty where there is nothing."""
    for name in (metadata_file_name(prefix), METADATA_NAME):
        found = files.json(name)
        if found is not None:
            return found
    return {}


def checksum_of(array: Any) -> str:
    """SHA-256 over an array's elements in C order, in hexadecimal digits.

    Collective for an array of which other processes have parts.
    """
    whole = array if isinstance(array, np.ndarray) else _place.gather(array)
    return hashlib.sha256(whole.tobytes()).hexdigest()


def add_checksums(metadata: CheckpointMetadata, tree: Any, float_dtype: Any) -> None:
    """Adds the checksum, dtype and shape of each array as it will be stored.  Collective."""
    flat = _core.FlatTree(tree)
    metadata.checksum, metadata.array_metadata = {}, {}
    for key, leaf in zip(flat.keys, flat.leaves):
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            continue
        stored = _place.gather(leaf, _kinds.float_dtype_name(float_dtype), key)
        metadata.checksum[key] = checksum_of(stored)
        metadata.array_metadata[key] = {"dtype": str(stored.dtype), "shape": list(stored.shape)}


class Validation:
    """Holds loaded arrays against the checksums that were kept when they were saved."""

    def __init__(self, insisted_on: bool):
        self._insisted_on = insisted_on
        self._sums: dict[str, str] = {}

    def use(self, metadata: Mapping[str, Any]) -> None:
        """Takes the checksums of a checkpoint's metadata.

        Where there are none, ValueError if that was insisted on, else a warning.
        """
        self._sums = CheckpointMetadata.from_dict(metadata).checksum or {}
        if not self._sums and self._insisted_on:
            raise ValueError("validate: no checksums were kept when this checkpoint was saved")
        if not self._sums:
            logger.warning("nothing is validated: the checkpoint was saved without checksums")

    def __call__(self, array: Any, key: str) -> None:
        """ValueError, naming the key, for an array whose elements are others."""
        if self._sums.get(key) not in (None, checksum_of(array)):
            raise ValueError(f"{key}: its elements are not those that were saved (checksum)")
