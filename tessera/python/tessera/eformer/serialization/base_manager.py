"""CheckpointManager: trees as safetensors files, whole or in shards with an index."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from .._gcs_path import make_gcs_client
from ..paths import ePath
from . import _files, fsspec_utils, utils
from ._state import gather

__all__ = ["CheckpointManager"]

logger = logging.getLogger(__name__)

_GIB = 1024**3


class CheckpointManager:
    """Saves and loads safetensors at local paths.

    Every process saves the shards that it has, and nothing is gathered; files and index become
    visible as a whole.  `save_optimizer_state` and `verbose` are kept for callers to look at.
    """

    def __init__(
        self,
        checkpoint_dir: Any,
        enable: bool | None = None,
        float_dtype: Any = "bfloat16",
        save_optimizer_state: bool = True,
        verbose: bool = False,
        gcs_bucket: str | None = None,
        gcs_credentials_path: str | None = None,
    ):
        self.float_dtype = float_dtype
        self.save_optimizer_state = save_optimizer_state
        self.checkpoint_dir = checkpoint_dir
        self.enable = enable
        self.verbose = verbose
        self.gcs_bucket = gcs_bucket
        self.gcs_client = self.create_gcs_client(gcs_credentials_path) if gcs_bucket else None

    _estimate_nbytes = staticmethod(utils.estimate_array_nbytes)
    _group_keys_by_shard_size = staticmethod(utils.group_keys_by_shard_size)
    _derive_base_prefix_from_path = staticmethod(utils.derive_base_prefix_from_path)
    _shard_filename = staticmethod(utils.shard_filename)
    _index_filename = staticmethod(utils.index_filename)
    _is_gcs_path = staticmethod(utils.is_gcs_path)
    _parse_gcs_path = staticmethod(utils.parse_gcs_path)

    @staticmethod
    def create_gcs_client(gcs_credentials_path: str | None = None) -> Any:
        """A client of google-cloud-storage.  ImportError when that is not installed."""
        return make_gcs_client(gcs_credentials_path)

    @staticmethod
    def load_checkpoint(
        path: Any,
        shard_fns: Mapping[str, Callable] | None = None,
        verbose: bool = False,
        mismatch_allowed: bool = True,
        callback: Callable[[Any, str], Any] | None = None,
        dtype: Any = None,
        gcs_client: Any = None,
    ) -> tuple[Any, dict]:
        """Loads a file, or the set of an index or of a shard: nested dicts, and the metadata.

        Each array is given to the function of its key, then to the callback, then its floats are
        cast.  KeyError for keys without a function unless `mismatch_allowed`.
        """
        del gcs_client
        tree, metadata, mismatches = _files.load_file(
            path, shard_fns, mismatch_allowed, callback, dtype
        )
        if verbose and mismatches:
            logger.info("%s: %d arrays had no shard function", path, mismatches)
        return tree, metadata

    @classmethod
    def save_checkpoint(
        cls,
        tree: Any,
        path: Any,
        mesh: Any,
        gather_fns: Mapping[str, Callable] | bool | None = None,
        float_dtype: Any = None,
        verbose: bool = True,
        mismatch_allowed: bool = True,
        metadata: dict[str, str] | None = None,
        enable: bool | None = None,
        shard_size_gb: float | None = 5.00,
        write_index_file: bool = True,
    ) -> Any:
        """Saves the arrays of a tree, and gives the path of the file or of the index.

        Floats are stored as `float_dtype`, bfloat16 if none is named.  Shards have at most
        `shard_size_gb` GiB; None: one file.  With `enable=False` nothing is saved.
        """
        del mesh
        if enable is False or str(path).startswith("/dev/null"):
            return path
        _files.check_local(path)
        gathered, mismatches = gather(tree, gather_fns, mismatch_allowed)
        if verbose and mismatches:
            logger.info("%s: %d arrays had no gather function", path, mismatches)
        in_shards = shard_size_gb is not None and shard_size_gb > 0
        saved = _files.save_file(
            gathered,
            path,
            float_dtype="bfloat16" if float_dtype is None else float_dtype,
            metadata=metadata,
            shard_bytes=max(int(shard_size_gb * _GIB), 1) if in_shards else None,
        )
        if in_shards and not write_index_file and fsspec_utils.jax.process_index() == 0:
            ePath(saved).unlink(missing_ok=True)
        return saved

    def save_state_to_gcs_msgpack(
        self,
        tree: Any,
        gcs_path: str,
        gather_fns: Mapping[str, Callable] | None = None,
        float_dtype: Any = None,
        verbose: bool = False,
        mismatch_allowed: bool = True,
    ) -> None:
        """NotImplementedError: msgpack is not among the formats that tessera writes."""
        raise NotImplementedError(
            f"{gcs_path}: msgpack files are not written; use save_checkpoint (safetensors) or "
            "AsyncCheckpointManager.save_tree (zarr)"
        )

    def load_state_from_gcs_msgpack(self, gcs_path: str, verbose: bool = False) -> dict:
        """NotImplementedError: msgpack is not among the formats that tessera reads."""
        raise NotImplementedError(
            f"{gcs_path}: msgpack files are not read; load with eformer and save as safetensors"
        )
