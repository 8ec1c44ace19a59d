"""The files beside the arrays of a checkpoint, in the state that the arrays are read in."""

from __future__ import annotations

import json
from typing import Any


class Files:
    """Files of one checkpoint, from an open checkpoint or through the path object of its folder.

    What a crash has left of a commit is seen as a whole by an open checkpoint only.
    """

    def __init__(self, root: Any, checkpoint: Any = None):
        self._root = root
        self._checkpoint = checkpoint

    def text(self, name: str) -> str | None:
        """A file's text; None without one."""
        if self._checkpoint is None:
            path = self._root / name
            return path.read_text() if path.exists() else None
        found = self._checkpoint.read_file(name)
        return None if found is None else found.decode()

    def json(self, name: str) -> dict[str, Any] | None:
        """A file's object; None without one.  ValueError with its path for anything else."""
        text = self.text(name)
        if text is None:
            return None
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{self.path(name)}: not JSON: {error}") from error
        if not isinstance(found, dict):
            raise ValueError(
                f"{self.path(name)}: expected an object, found {type(found).__name__}"
            )
        return found

    def header_metadata(self) -> dict[str, str]:
        """What the headers of safetensors files say beside their tensors."""
        return {} if self._checkpoint is None else dict(self._checkpoint.metadata)

    def path(self, name: str) -> str:
        """Where a file is, for messages."""
        return str(self._root / name)
