"""Sharding constraints, partition rules and questions about meshes."""

from . import constraints
from .constraints import *  # noqa: F403
from .constraints import __all__ as _names

__all__ = ("constraints", *_names)
