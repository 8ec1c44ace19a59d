"""The processes of a JAX program, which save and load together.

They speak through the store of keys and values that jax.distributed keeps in its first process.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
from typing import Any

from . import _core, _jax, _runtime

_lock = threading.Lock()
_sessions = itertools.count()
_clients: list[Any] = []  # the one in use; another one begins to count anew


def comm() -> _core.Comm | None:
    """A Comm of its own for one save; None when there is one process.

    Every process asks for its Comms in the same order, before anything can fail in one process
    alone: the number of the request names the place where the processes meet.
    """
    count = _jax.process_count()
    if count == 1:
        return None
    client = _jax.distributed_client()
    if client is None:
        raise ValueError(
            f"there are {count} JAX processes, but jax.distributed is not initialized, so that they "
            "cannot speak to each other; call jax.distributed.initialize() first")
    with _lock:
        session = f"tessera/{_number(client)}"
    return _core.Comm(client, _jax.jax().process_index(), count, session)


def _number(client: Any) -> int:
    """How many Comms this client has been asked for."""
    global _sessions
    if not _clients or _clients[0] is not client:
        _clients[:] = [client]
        _sessions = itertools.count()
        # Saves that still run at the end need the client, which JAX's own exit function shuts
        # down; functions registered later run earlier.
        atexit.register(_runtime.finish)
    return next(_sessions)


def _start_anew() -> None:
    """In a forked process, which is none of JAX's."""
    global _lock
    _lock = threading.Lock()
    _clients.clear()


os.register_at_fork(after_in_child=_start_anew)
