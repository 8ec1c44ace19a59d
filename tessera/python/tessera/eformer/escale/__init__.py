"""Sharding over meshes: eformer's ``escale``, as far as checkpoints need it."""

from . import partition
from .partition import *  # noqa: F403
from .partition import __all__ as _names
from .partition import with_sharding_constraint as lax_reshard

__all__ = ("lax_reshard", "partition", *_names)
