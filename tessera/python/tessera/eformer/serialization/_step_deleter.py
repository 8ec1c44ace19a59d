"""Deletes the folders of steps in the background."""

from __future__ import annotations

import logging
import queue
import threading

from . import _runs

logger = logging.getLogger(__name__)


class StepDeleter:
    """Deletes one folder after the other, on a thread that is started with the first one.

    What it has not ended when the program ends, the next run does.
    """

    def __init__(self) -> None:
        self._folders: queue.Queue[str] = queue.Queue()
        self._thread: threading.Thread | None = None

    def put(self, folder: str) -> None:
        """Has a folder deleted; errors are logged."""
        self._folders.put(folder)
        if self._thread is None:
            self._thread = threading.Thread(target=_delete_all, args=(self._folders,), daemon=True)
            self._thread.start()

    def end(self, folder: str) -> None:
        """Returns when nothing deletes the folder any more, so that it can be saved to: a deletion
        that was begun, in an earlier run as well, is ended first."""
        self._folders.join()
        if _runs.is_being_deleted(folder):
            _runs.delete_step(folder)

    def wait_until_finished(self) -> None:
        """Returns when all folders are gone, or could not be deleted."""
        self._folders.join()


def _delete_all(folders: queue.Queue[str]) -> None:
    """What the thread does for as long as the program runs; it does not keep its owner alive."""
    while True:
        folder = folders.get()
        try:
            _runs.delete_step(folder)
            logger.info("%s is deleted", folder)
        except Exception:
            logger.exception("%s could not be deleted", folder)
        finally:
            folders.task_done()
