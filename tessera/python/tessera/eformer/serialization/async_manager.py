"""AsyncCheckpointManager: saves and loads trees with metadata, checksums and structure."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import _core
from ..paths import ePath
from . import _files, _kinds, fsspec_utils
from ._deserialize import deserialize, split_shardings
from ._foreign import stored_paths
from ._global_manager import GlobalAsyncCheckpointManager, make_manager
from ._index import INDEX_NAME
from ._load_pytree import load_pytree
from ._metadata import (
    METADATA_NAME,
    CheckpointMetadata,
    Validation,
    add_checksums,
    checksum_of,
    encode_metadata,
    metadata_file_name,
    read_metadata,
    utc_now,
)
from ._side_files import Files
from ._state import gather, nested_state
from ._structure_file import (
    TreeLeaves,
    encode_structure,
    make_structure,
    structure_name,
)
from .base_manager import CheckpointManager
from .serialization import (
    GLOBAL_CHECKPOINT_TIMEOUT,
    leaf_key_paths,
    tree_deserialize_leaves,
    tree_serialize_leaves,
)

__all__ = [
    "AsyncCheckpointManager",
    "CheckpointMetadata",
    "leaf_key_paths",
    "tree_deserialize_leaves",
    "tree_serialize_leaves",
]

logger = logging.getLogger(__name__)


def _sync_remote_checkpoint_visibility(path: Any, *, scope: str) -> None:
    """Makes processes wait for each other until what process 0 wrote to remote storage is there."""
    if not fsspec_utils.is_remote_path(path) or fsspec_utils.jax.process_count() <= 1:
        return
    if not fsspec_utils.jax.distributed.is_initialized():
        return
    from jax.experimental import multihost_utils

    token = hashlib.sha1(f"{scope}:{path}".encode()).hexdigest()[:12]
    multihost_utils.sync_global_devices(f"tessera-checkpoint-{scope}-{token}")


class AsyncCheckpointManager:
    """Saves and loads checkpoints, as folders of zarr arrays or as safetensors files.

    Calls return when what was saved is committed.  With tessera's own writer everything that
    belongs to a save appears at once, so that a crash leaves the old checkpoint or the new one.
    Floats keep their dtype unless one is given.  `verbose`, `enable_compression`, `do_all_gather`
    and `cpu_offload` change nothing: the engine saves shards where they are, and chooses codecs by
    measuring.
    """

    def __init__(
        self,
        enable: bool | None = None,
        float_dtype: Any = None,
        verbose: bool = False,
        gcs_bucket: str | None = None,
        gcs_credentials_path: str | None = None,
        enable_validation: bool = False,
        enable_compression: bool = False,
        use_tensorstore: bool = True,
    ):
        if fsspec_utils.jax.process_count() > 1:
            if not fsspec_utils.jax.distributed.is_initialized():
                raise RuntimeError("call jax.distributed.initialize() before making a manager")
        _kinds.float_dtype_name(float_dtype)
        self.float_dtype = float_dtype
        self.enable = enable
        self.verbose = verbose
        self.gcs_bucket = gcs_bucket
        self.enable_validation = enable_validation
        self.enable_compression = enable_compression
        self.use_tensorstore = use_tensorstore
        self.gcs_client = None
        self._global_manager: Any = None
        if gcs_bucket:
            self.gcs_client = CheckpointManager.create_gcs_client(gcs_credentials_path)

    @property
    def global_manager(self) -> Any:
        """The writer of this manager's saves, made at first use."""
        if self._global_manager is None:
            self._global_manager = GlobalAsyncCheckpointManager(GLOBAL_CHECKPOINT_TIMEOUT)
        return self._global_manager

    def _manager_for(self, path: Any) -> Any:
        """The writer that was set, else the one that reaches the path."""
        if self._global_manager is None and fsspec_utils.is_remote_path(path):
            self._global_manager = make_manager(path, GLOBAL_CHECKPOINT_TIMEOUT)
        return self.global_manager

    def _is_disabled(self) -> bool:
        # Of several processes all have to take part in a save.
        return self.enable is False and fsspec_utils.jax.process_count() == 1

    @staticmethod
    def compute_checksum(array: Any) -> str:
        """SHA-256 over an array's elements in C order."""
        return checksum_of(array)

    def save_tree(
        self,
        tree: Any,
        path: Any,
        mesh: Any = None,
        gather_fns: Mapping[str, Callable] | bool | None = None,
        float_dtype: Any = None,
        metadata: dict[str, Any] | None = None,
        callback: Callable[[str], None] | None = None,
        prefix: str | None = None,
        do_all_gather: bool = False,
        cpu_offload: bool = False,
    ) -> str:
        """Saves the arrays of a tree by their dotted keys, and returns the path.

        Arrays are gathered by `gather_fns` where given; `callback` is called with the path at the
        end.  A tree is saved from the devices that it is on, so that `mesh` is not needed.
        """
        del mesh, do_all_gather, cpu_offload
        if self._is_disabled():
            return str(path)
        dtype = self.float_dtype if float_dtype is None else float_dtype
        state, _ = gather(nested_state(tree), gather_fns)
        about = CheckpointMetadata(timestamp=utc_now(), custom_metadata=metadata)
        if self.enable_validation:
            add_checksums(about, state, dtype)
        if self.use_tensorstore:
            saved = self._save_tensorstore(state, str(path), about, prefix, dtype)
        else:
            saved = _files.save_file(
                state, str(path), float_dtype=dtype, metadata=about.to_dict()
            )
        if callback is not None:
            callback(str(path))
        return saved

    save = save_tree

    def _save_tensorstore(
        self, state: Any, path: str, about: CheckpointMetadata, prefix: str | None, dtype: Any
    ) -> str:
        shared = fsspec_utils.should_write_shared_checkpoint_files(path)
        content = encode_metadata(about)
        self._serialize(path, state, prefix, dtype, shared, {}, content)
        if shared and not self._is_native():
            (ePath(path) / METADATA_NAME).write_text(content.decode())
        _sync_remote_checkpoint_visibility(path, scope=f"save-tree:{prefix or 'root'}")
        return path

    def _is_native(self) -> bool:
        return isinstance(self._global_manager, GlobalAsyncCheckpointManager)

    def _serialize(
        self,
        path: str,
        tree: Any,
        prefix: str | None,
        dtype: Any,
        write_index: bool,
        side_files: dict[str, bytes],
        metadata: bytes,
    ) -> None:
        """Saves the arrays and waits; tessera's own writer takes the files into its commit."""
        manager = self._manager_for(path)
        if self._is_native():
            manager = manager.with_files(
                side_files={**side_files, metadata_file_name(prefix): metadata},
                shared_files={METADATA_NAME: metadata},
                float_dtype=dtype,
                share=True,  # nobody changes the tree while we wait
            )
        elif dtype is not None:
            flat = _core.FlatTree(tree)
            tree = flat.unflatten([_kinds.cast_float(leaf, dtype) for leaf in flat.leaves])
        tree_serialize_leaves(
            checkpoint_dir=path,
            pytree=tree,
            manager=manager,
            prefix=prefix,
            write_index=write_index,
        )
        self.global_manager.wait_until_finished()

    def save_pytree(
        self,
        pytree: Any,
        path: Any,
        mesh: Any = None,
        *,
        prefix: str,
        do_all_gather: bool = False,
        cpu_offload: bool = True,
        dtype: Any = None,
        extras: dict | None = None,
        write_index: bool = True,
    ) -> str:
        """Saves a tree with its containers and plain values, and returns the path.

        `extras` are kept as well, and given back by the load; floats are stored as `dtype`.
        TypeError, naming each, for leaves that are neither arrays nor plain values.
        """
        del mesh, do_all_gather, cpu_offload
        _check_prefix(prefix)
        root = ePath(path)
        leaves = TreeLeaves(pytree, prefix)
        structure = make_structure(pytree, leaves, prefix, leaves.stored_paths(prefix), extras)
        about = CheckpointMetadata(timestamp=utc_now(), custom_metadata=extras)
        content = encode_metadata(about)
        if self._is_disabled():
            return str(root)
        shared = fsspec_utils.should_write_shared_checkpoint_files(path)
        if shared:
            root.mkdir(parents=True, exist_ok=True)
        dtype = self.float_dtype if dtype is None else dtype
        files = {structure_name(prefix): encode_structure(structure)}
        self._serialize(str(root), pytree, prefix, dtype, write_index and shared, files, content)
        if shared and not self._is_native():
            structure["array_relpaths"] = stored_paths(root, prefix, leaves.array_keys)
            (root / structure_name(prefix)).write_text(encode_structure(structure).decode())
            (root / METADATA_NAME).write_text(content.decode())
        _sync_remote_checkpoint_visibility(root, scope=f"save-pytree:{prefix}")
        return str(root)

    def load(
        self,
        path: Any,
        mesh: Any,
        shardings: Mapping[str, Any] | None = None,
        mismatch_allowed: bool = True,
        callback: Callable[[Any, str], Any] | None = None,
        partition_rules: Sequence[tuple[str, Any]] | None = None,
        dtype: Any = None,
        validate: bool | None = None,
        prefix_filter: str | None = None,
        prefix: str | None = None,
        use_async: bool = True,
        chunk_size: int | None = None,
    ) -> tuple[Any, dict]:
        """Loads a checkpoint of any format: dicts nested by the keys, and the metadata.

        `validate` holds every array against the checksum that was kept of it; ValueError names
        those that differ.  Floats come as `dtype`.
        """
        del use_async
        root = self.safe_loadpath(path)
        if not root.is_dir():
            if partition_rules is None and not split_shardings(shardings)[0]:
                return self.load_tree_parallel(
                    path, shardings, mismatch_allowed, callback, dtype, validate, prefix_filter
                )
            root = ePath(_files.set_path(path))
        prefix = prefix or prefix_filter
        metadata: dict[str, Any] = {}
        validation = self._validation(validate)

        def look(files: Files, _: bool) -> None:
            metadata.update(read_metadata(files, prefix) or files.header_metadata())
            if validation is not None:
                validation.use(metadata)

        tree = deserialize(
            root,
            mesh,
            self._manager_for(root),
            root=root,
            prefix=prefix,
            rules=partition_rules,
            shardings=shardings,
            inspect=validation,
            dtype=dtype,
            callback=callback,
            chunk_size=chunk_size,
            on_files=look,
        )
        return tree, metadata

    def load_tree_parallel(
        self,
        path: Any,
        shardings: Mapping[str, Callable] | None = None,
        mismatch_allowed: bool = True,
        callback: Callable[[Any, str], Any] | None = None,
        dtype: Any = None,
        validate: bool | None = None,
        prefix_filter: str | None = None,
    ) -> tuple[Any, dict]:
        """Loads safetensors, one file or the set that it belongs to.

        `shardings` are functions by key; `prefix_filter` leaves out keys that do not begin with it.
        """
        tree, metadata, _ = _files.load_file(
            path,
            shardings,
            mismatch_allowed,
            callback,
            dtype,
            self._validation(validate),
            prefix_filter,
        )
        return tree, metadata

    def _validation(self, validate: bool | None) -> Validation | None:
        wanted = self.enable_validation if validate is None else validate
        return Validation(insisted_on=bool(validate)) if wanted else None

    @staticmethod
    def is_tensorstore(path: Any) -> bool:
        """Whether a path is that of a checkpoint with an index, or of the index itself."""
        return str(path).endswith(INDEX_NAME) or (ePath(path) / INDEX_NAME).exists()

    @staticmethod
    def safe_loadpath(path: Any) -> Any:
        """The folder of a checkpoint, of which the path may be that of the index."""
        text = str(path)
        if text.endswith(INDEX_NAME):
            text = text.removesuffix(INDEX_NAME).rstrip("/") or "."
        return ePath(text)

    def load_pytree(
        self,
        path: Any,
        mesh: Any,
        *,
        prefix: str,
        shardings: Mapping[str, Any] | None = None,
        partition_rules: Sequence[tuple[str, Any]] | None = None,
        dtype: Any = None,
        template: Any = None,
        strict_shapes: bool = True,
        callback: Callable[[Any, str], Any] | None = None,
        chunk_size: int | None = None,
    ) -> tuple[Any, dict]:
        """Loads the tree that save_pytree saved, or fills a template: the tree, and the extras.

        Keys are without the prefix.  With `strict_shapes` the template must fit exactly; else what
        can be made to fit is, and the template's own leaf stands in for the rest.
        """
        _check_prefix(prefix)
        root = self.safe_loadpath(path)
        return load_pytree(
            root,
            mesh,
            self._manager_for(root),
            prefix=prefix,
            shardings=shardings,
            rules=partition_rules,
            template=template,
            strict=strict_shapes,
            dtype=dtype,
            callback=callback,
            chunk_size=chunk_size,
        )


def _check_prefix(prefix: Any) -> None:
    if not isinstance(prefix, str) or not prefix:
        raise ValueError(f"prefix: expected text that is not empty, found {prefix!r}")
