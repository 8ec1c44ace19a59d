"""Results to come, that can be waited for and awaited."""

from __future__ import annotations

import threading
from typing import Any, Callable, Generic, TypeVar

T = TypeVar("T")


class Future(Generic[T]):
    """The result of work in the background.

    ``result()`` waits; ``await future`` gives way to other tasks of the event loop meanwhile.
    """

    def done(self) -> bool:
        """Whether the result, or the exception, is there."""
        raise NotImplementedError

    def result(self, timeout: float | None = None) -> T:
        """The result.  Raises what the work raised, or TimeoutError."""
        raise NotImplementedError

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What the work raised; None: it went well."""
        raise NotImplementedError

    def add_done_callback(self, function: Callable[["Future[T]"], Any]) -> None:
        """Calls ``function(self)`` once the result is there, on the thread that made it."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Asks the work to stop; it then raises CancelledError."""
        raise NotImplementedError

    def __await__(self):
        import asyncio  # takes longer to import than all of tessera

        loop = asyncio.get_running_loop()
        ready = loop.create_future()

        def tell() -> None:
            if not ready.done():
                ready.set_result(None)

        def on_done(_: Any) -> None:
            try:
                loop.call_soon_threadsafe(tell)
            except RuntimeError:
                pass  # the loop was closed: nobody waits any more

        self.add_done_callback(on_done)
        yield from ready.__await__()
        return self.result()


class SaveFuture(Future):
    """A save that runs; its result is a SaveReport."""

    def __init__(self, core: Any, on_end: Callable[[], None] | None = None):
        self._core = core
        self._on_end = on_end

    def done(self) -> bool:
        return self._core.done()

    def result(self, timeout: float | None = None):
        return self._core.result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return self._core.exception(timeout)

    def add_done_callback(self, function: Callable[[Future], Any]) -> None:
        self._core.on_done(lambda: function(self))

    def cancel(self) -> None:
        self._core.cancel()


class ThreadFuture(Future[T]):
    """A function that runs on a thread of its own."""

    def __init__(self, work: Callable[[], T], name: str):
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), name=name)
        self._thread.start()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            self._value = work()
        except BaseException as error:
            self._error = error
        with self._lock:
            self._done.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def done(self) -> bool:
        return self._done.is_set()

    def result(self, timeout: float | None = None) -> T:
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._value

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if not self._done.wait(timeout):
            raise TimeoutError("the work has not ended yet")
        return self._error

    def add_done_callback(self, function: Callable[[Future[T]], Any]) -> None:
        with self._lock:
            if not self._done.is_set():
                self._callbacks.append(function)
                return
        function(self)
