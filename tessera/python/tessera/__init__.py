"""tessera: checkpoints of model state that is spread over a mesh of devices.

``save``, ``load`` and ``open`` are for who starts fresh; ``tessera.eformer`` has eformer's modules
under their own names.
"""

from . import _core, _tree
from ._core import (
    CancelledError,
    DataLossError,
    DuplicateAxisError,
    IndivisibleError,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SaveReport,
    ShardedArray,
    SingleDeviceSharding,
    TesseraError,
    __version__,
)
from ._future import Future
from ._load import load
from ._open import Checkpoint, LazyArray, open
from ._save import Saver, save, wait_until_finished

P = PartitionSpec

__all__ = [
    "CancelledError",
    "Checkpoint",
    "DataLossError",
    "DuplicateAxisError",
    "Future",
    "IndivisibleError",
    "LazyArray",
    "Mesh",
    "NamedSharding",
    "P",
    "PartitionSpec",
    "SaveReport",
    "Saver",
    "ShardedArray",
    "SingleDeviceSharding",
    "TesseraError",
    "__version__",
    "load",
    "open",
    "save",
    "wait_until_finished",
]
