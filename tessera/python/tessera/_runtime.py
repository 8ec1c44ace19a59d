"""Threads, memory and devices of this process, made when first needed."""

from __future__ import annotations

import atexit
import os
import threading
import weakref

from . import _core, _jax

_lock = threading.Lock()
_runtimes: dict[tuple, _core.Runtime] = {}
_savers: weakref.WeakSet = weakref.WeakSet()


def runtime() -> _core.Runtime:
    """The runtime of this process: for JAX's local devices when JAX is in use, else for one device
    of number 0."""
    process, devices = _jax.local_devices()
    with _lock:
        made = _runtimes.get((process, devices))
        if made is None:
            made = _runtimes[process, devices] = _core.Runtime(process=process, devices=list(devices))
        return made


def host_runtime(devices: tuple[int, ...] = (0,), process: int = 0) -> _core.Runtime:
    """A runtime for devices that are the host's memory, whatever JAX has."""
    with _lock:
        key = (process, devices)
        if key not in _runtimes:
            _runtimes[key] = _core.Runtime(process=process, devices=list(devices))
        return _runtimes[key]


def is_current(made: object) -> bool:
    """Whether a runtime was made by this process, and not by the one that it was forked from."""
    return any(made is known for known in _runtimes.values())


def remember(saver) -> None:
    """Has the saver waited for when the interpreter ends."""
    _savers.add(saver)


def finish() -> None:
    """Waits for all savers.  They can be used again."""
    for saver in list(_savers):
        saver.finish()


@atexit.register
def _end() -> None:
    finish()
    _core.freeze_other_threads()


def _start_anew() -> None:
    """In a forked process, which has none of the threads."""
    global _lock
    _lock = threading.Lock()
    _runtimes.clear()
    _savers.clear()


os.register_at_fork(after_in_child=_start_anew)
