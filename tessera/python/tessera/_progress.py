"""Progress of saves and loads, told to a function or shown by tqdm."""

from __future__ import annotations

import sys
from typing import Any, Callable


class Progress:
    """``update(bytes done, bytes in all)`` for a caller's function, or for a bar."""

    def __init__(self, tell: Callable[[int, int], Any], close: Callable[[], Any]):
        self._tell = tell
        self.close = close

    def update(self, done: int, total: int) -> None:
        self._tell(done, total)

    @staticmethod
    def of(asked: Any, what: str) -> "Progress | None":
        """None and False: nothing; True: tqdm; a function: itself."""
        if asked is None or asked is False:
            return None
        if asked is True:
            return _bar(what)
        if not callable(asked):
            raise TypeError(f"progress is True, False or a function, not {type(asked).__name__}")
        return Progress(asked, lambda: None)


def _bar(what: str) -> Progress:
    from tqdm.auto import tqdm

    bar = tqdm(desc=what, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr)

    def tell(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return Progress(tell, bar.close)
