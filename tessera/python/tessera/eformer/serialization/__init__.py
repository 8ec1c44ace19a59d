"""eformer's serialization, by its own names."""

from . import fsspec_utils
from ._global_manager import GlobalAsyncCheckpointManager
from .async_manager import AsyncCheckpointManager
from .base_manager import CheckpointManager
from .checkpointer import Checkpointer, CheckpointInterval
from .serialization import tree_deserialize_leaves, tree_serialize_leaves

__all__ = (
    "AsyncCheckpointManager",
    "CheckpointInterval",
    "CheckpointManager",
    "Checkpointer",
    "GlobalAsyncCheckpointManager",
    "fsspec_utils",
    "tree_deserialize_leaves",
    "tree_serialize_leaves",
)
