"""Paths, here or in Google Cloud Storage, behind one interface.

``ePath(path)`` gives a LocalPath or a GCSPath, and keeps small arrays and dictionaries in files.
Pickles are neither written nor read: a pickle can run any code when it is loaded.
"""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ._gcs_path import GCSPath, make_gcs_client
from ._local_path import LocalPath
from ._universal_path import UniversalPath

__all__ = [
    "GCSPath",
    "LocalPath",
    "MLUtilPath",
    "PathManager",
    "UniversalPath",
    "ePath",
    "ePathLike",
    "is_local_path",
    "is_remote_path",
    "path_protocol",
]


def path_protocol(path: str | Path | UniversalPath) -> str:
    """The scheme of a URL; "file" for paths of this machine."""
    if isinstance(path, GCSPath):
        return "gs"
    if isinstance(path, LocalPath):
        return "file"
    scheme, separator, _ = str(path).partition("://")
    # One letter is a drive, not a scheme.
    return scheme if separator and len(scheme) > 1 else "file"


def is_remote_path(path: str | Path | UniversalPath) -> bool:
    """Whether a path points anywhere but into the file system of this machine."""
    return path_protocol(path) != "file"


def is_local_path(path: str | Path | UniversalPath) -> bool:
    """Whether a path points into the file system of this machine."""
    return not is_remote_path(path)


class PathManager:
    """Makes the path object that fits a path's text."""

    def __init__(self, gcs_client: Any = None, gcs_credentials_path: str | None = None):
        self._gcs_client = gcs_client
        self._gcs_credentials_path = gcs_credentials_path

    @property
    def gcs_client(self) -> Any:
        """The client that gs:// paths get, made at first use.  ImportError where there is none."""
        if self._gcs_client is None:
            self._gcs_client = make_gcs_client(self._gcs_credentials_path)
        return self._gcs_client

    def __call__(self, path: str | Path | UniversalPath) -> UniversalPath:
        text = str(path)
        if not text.startswith("gs://"):
            return LocalPath(text.removeprefix("file://"))
        # Without credentials of its own, a path finds its client when it is used.
        named = self._gcs_client is not None or self._gcs_credentials_path is not None
        return GCSPath(text, self.gcs_client if named else None)


class MLUtilPath(PathManager):
    """A PathManager that keeps arrays and dictionaries in files."""

    def save_jax_array(
        self, array: Any, path: str | Path | UniversalPath, format: str = "npy"
    ) -> None:
        """Writes an array as a NumPy file.  ValueError for a dtype that such files cannot hold."""
        _check_format(format, "npy")
        values = np.asarray(array)
        if values.dtype.hasobject or values.dtype.kind == "V":
            raise ValueError(f"{path}: a .npy file cannot hold the dtype {values.dtype}")
        buffer = io.BytesIO()
        np.save(buffer, values, allow_pickle=False)
        self._path(path).write_bytes(buffer.getvalue())

    def load_jax_array(self, path: str | Path | UniversalPath, format: str = "npy") -> Any:
        """The array of a NumPy file: JAX's where JAX is in use, else NumPy's."""
        _check_format(format, "npy")
        values = np.load(io.BytesIO(self._path(path).read_bytes()), allow_pickle=False)
        jax = sys.modules.get("jax")
        return values if jax is None else jax.numpy.asarray(values)

    def save_dict(
        self, data: dict[str, Any], path: str | Path | UniversalPath, format: str = "json"
    ) -> None:
        """Writes a dictionary as JSON, arrays in it as lists.  TypeError for what JSON has not."""
        _check_format(format, "json")
        self._path(path).write_text(json.dumps(self._make_json_serializable(data), indent=2))

    def load_dict(self, path: str | Path | UniversalPath, format: str = "json") -> dict[str, Any]:
        """The dictionary of a JSON file.  ValueError when it holds something else."""
        _check_format(format, "json")
        data = json.loads(self._path(path).read_text())
        if not isinstance(data, dict):
            raise ValueError(f"{path}: expected a JSON object, found {type(data).__name__}")
        return data

    def copy_tree(self, src: str | Path | UniversalPath, dst: str | Path | UniversalPath) -> None:
        """Copies a file, or a folder with all that is in it.  FileNotFoundError without one."""
        source, target = self._path(src), self._path(dst)
        if source.is_file():
            target.write_bytes(source.read_bytes())
            return
        if not source.is_dir():
            raise FileNotFoundError(f"{source} does not exist")
        target.mkdir(parents=True, exist_ok=True)
        for item in source.iterdir():
            self.copy_tree(item, target / item.name)

    def _path(self, path: str | Path | UniversalPath) -> UniversalPath:
        return path if isinstance(path, UniversalPath) else self(path)

    def _make_json_serializable(self, obj: Any) -> Any:
        if isinstance(obj, dict):
            return {key: self._make_json_serializable(value) for key, value in obj.items()}
        if isinstance(obj, list | tuple):
            return [self._make_json_serializable(item) for item in obj]
        if hasattr(obj, "shape") and hasattr(obj, "tolist"):
            return obj.tolist()
        return obj


def _check_format(format: str, accepted: str) -> None:
    if format == "pickle":
        raise ValueError(
            f"format 'pickle' is refused, as loading a pickle can run any code; use {accepted!r}"
        )
    if format != accepted:
        raise ValueError(f"unsupported format {format!r}; expected {accepted!r}")


ePath: MLUtilPath = MLUtilPath(gcs_credentials_path=os.getenv("EASYDEL_GCS_CLIENT"))
ePathLike: TypeAlias = GCSPath | LocalPath | MLUtilPath
