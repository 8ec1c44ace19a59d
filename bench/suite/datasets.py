"""The data that cases name, and who makes it."""

import shutil

from . import data
from .cases import MIB, Work


class Datasets:
    """Made when first asked for, in `folder`; what is on a drive in `disk`."""

    def __init__(self, folder, disk, scale, programs):
        self.folder, self.disk, self.scale, self.programs = folder, disk, scale, programs
        self.paths = {}

    def need(self, names):
        """Their paths, once they are there."""
        for name in sorted(names):
            if name not in self.paths:
                parent = self.disk if name.startswith("disk_") else self.folder
                path = parent / name
                self.make(name, path)
                self.paths[name] = path
        return self.paths

    def drop(self, names):
        for name in names & self.paths.keys():
            path = self.paths.pop(name)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def make(self, name, path):
        kind, _, rest = name.partition("_")
        maker = getattr(self, f"make_{kind}", None)
        if maker is None:
            raise ValueError(f"no data is called {name}")
        maker(path, rest)

    def make_zarr(self, path, rest):
        shape, codec = rest.split("_")
        if shape == "big":
            data.zarr_big(path, self.scale.array, codec)
        elif shape == "tiles":
            data.zarr_tiles(path, self.scale.array, codec)
        elif shape == "medium":
            data.zarr_medium(path, self.scale.array, self.scale.medium, codec)
        else:
            data.zarr_small(path, self.scale.small, codec)

    def make_disk(self, path, rest):
        if rest == "st":
            data.st_large(path, self.scale.array)
        else:
            data.zarr_big(path, self.scale.array, rest.split("_")[1])

    def make_jax(self, path, rest):
        if rest == "small":
            data.jax_checkpoint_small(path, self.scale.jax_small)
        else:
            data.jax_checkpoint(path, int(rest) * MIB if rest else self.scale.checkpoint)

    def make_small(self, path, rest):
        data.zarr_small(path, int(rest), "none")

    def make_ours(self, path, _):
        source = self.need({"jax"})["jax"]
        self.programs.run("ours", Work("ckpt_save", {"from": str(source), "to": str(path),
                                                     "codec": "auto", "devices": "8"}), {})

    def make_st(self, path, rest):
        if rest == "large":
            data.st_large(path, self.scale.checkpoint)
        else:
            data.st_small(path, self.scale.small)

    def make_index(self, path, _):
        self.programs.run("ours", Work("make_index", {"dir": str(path),
                                                      "arrays": str(self.scale.names)}), {})

    def make_rules(self, path, _):
        data.rules_files(path, self.scale.names)
