"""Paths in Google Cloud Storage, by the package google-cloud-storage where it is installed."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from typing import Any

from ._universal_path import UniversalPath

SCHEME = "gs://"


def make_gcs_client(credentials_path: str | None = None) -> Any:
    """A client of google-cloud-storage.  ImportError, saying so, when that is not installed."""
    try:
        from google.cloud import storage
    except ImportError as error:
        raise ImportError(
            "paths that begin with gs:// need the package google-cloud-storage"
        ) from error
    if credentials_path is None:
        return storage.Client()
    from google.oauth2 import service_account

    credentials = service_account.Credentials.from_service_account_file(credentials_path)
    return storage.Client(credentials=credentials)


class GCSPath(UniversalPath):
    """An object, or the folder that objects' names make, in a bucket: ``gs://bucket/name``.

    The client is made when something is first asked of it, so that paths can be put together
    without credentials.
    """

    def __init__(self, path: str, client: Any = None):
        if not path.startswith(SCHEME):
            raise ValueError(f"a path in Google Cloud Storage begins with {SCHEME}, not {path!r}")
        self.path = path
        self._client = client
        self.bucket_name, _, self.blob_name = path[len(SCHEME):].partition("/")
        self._bucket: Any = None
        self._blob: Any = None

    @property
    def client(self) -> Any:
        if self._client is None:
            self._client = make_gcs_client()
        return self._client

    @property
    def bucket(self) -> Any:
        if self._bucket is None:
            self._bucket = self.client.bucket(self.bucket_name)
        return self._bucket

    @property
    def blob(self) -> Any:
        """The object; None for the bucket itself."""
        if self._blob is None and self.blob_name:
            self._blob = self.bucket.blob(self.blob_name)
        return self._blob

    def _at(self, blob_name: str) -> GCSPath:
        return GCSPath(f"{SCHEME}{self.bucket_name}/{blob_name}", self._client)

    def _folder(self) -> str:
        """What the names of the objects in this folder begin with."""
        return f"{self.blob_name.rstrip('/')}/" if self.blob_name else ""

    def _need_blob(self, action: str) -> Any:
        if not self.blob_name:
            raise ValueError(f"cannot {action} {self.path!r}: it is a bucket, not an object")
        return self.blob

    def exists(self) -> bool:
        return self.blob.exists() if self.blob_name else self.bucket.exists()

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def write_text(self, data: str, encoding: str = "utf-8") -> None:
        blob = self._need_blob("write")
        blob.upload_from_string(data.encode(encoding), content_type="text/plain")

    def read_bytes(self) -> bytes:
        blob = self._need_blob("read")
        try:
            return blob.download_as_bytes()
        except Exception as error:
            # The package's own class for it is known only where the package is installed.
            if getattr(error, "code", None) == 404:
                raise FileNotFoundError(f"{self.path!r} does not exist") from error
            raise

    def write_bytes(self, data: bytes) -> None:
        blob = self._need_blob("write")
        blob.upload_from_string(data, content_type="application/octet-stream")

    def mkdir(self, parents: bool = True, exist_ok: bool = True) -> None:
        """Marks the folder by an empty object, as there are no folders as such."""
        del parents
        if not exist_ok and self.is_dir():
            raise FileExistsError(f"{self.path!r} exists")
        if self._folder():
            mark = self.bucket.blob(self._folder() + ".keep")
            if not mark.exists():
                mark.upload_from_string("", content_type="text/plain")

    def is_dir(self) -> bool:
        if not self.blob_name:
            return True
        return any(True for _ in self.bucket.list_blobs(prefix=self._folder(), max_results=1))

    def is_file(self) -> bool:
        return bool(self.blob_name) and self.exists() and not self.is_dir()

    def iterdir(self) -> Iterator[GCSPath]:
        folder = self._folder()
        listing = self.client.list_blobs(self.bucket_name, prefix=folder, delimiter="/")
        for page in listing.pages:
            for blob in page:
                if blob.name != folder:
                    yield self._at(blob.name)
            for name in page.prefixes:
                yield self._at(name)

    def glob(self, pattern: str, recursive: bool = False) -> Iterator[GCSPath]:
        if recursive:
            yield from self._glob_below(pattern)
        else:
            yield from self._glob_steps(pattern.replace("**", "*").rstrip("/").split("/"))

    def _glob_below(self, pattern: str) -> Iterator[GCSPath]:
        folder = self._folder()
        names = set()
        for blob in self.bucket.list_blobs(prefix=folder):
            parts = blob.name[len(folder):].split("/")
            names.update("/".join(parts[: end + 1]) for end in range(len(parts)))
        for name in sorted(names - {""}):
            # "**/" also stands for no folder at all.
            if fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(name, pattern.replace("**/", "")):
                yield self._at(folder + name)

    def _glob_steps(self, patterns: list[str]) -> Iterator[GCSPath]:
        for path in self.iterdir():
            if not fnmatch.fnmatchcase(path.name, patterns[0]):
                continue
            if len(patterns) == 1:
                yield path
            elif path.path.endswith("/"):
                yield from path._glob_steps(patterns[1:])

    def __truediv__(self, other: Any) -> GCSPath:
        return self._at(self._folder() + str(other))

    def __str__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"GCSPath('{self.path}')"

    @property
    def name(self) -> str:
        return os.path.basename(self.blob_name.rstrip("/")) if self.blob_name else self.bucket_name

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.name)[1]

    @property
    def parent(self) -> GCSPath:
        if not self.blob_name:
            raise ValueError(f"{self.path!r} is a bucket and has no parent")
        above = os.path.dirname(self.blob_name.rstrip("/"))
        return self._at(f"{above}/" if above else "")

    def as_posix(self) -> str:
        return self.path

    def stem(self) -> str:
        return os.path.splitext(self.name)[0]

    def suffixes(self) -> list[str]:
        return ["." + part for part in self.name.split(".")[1:]]

    def with_name(self, name: str) -> GCSPath:
        self._need_blob("rename")
        above = os.path.dirname(self.blob_name.rstrip("/"))
        return self._at(f"{above}/{name}" if above else name)

    def with_suffix(self, suffix: str) -> GCSPath:
        return self.with_name(self.stem() + suffix)

    def with_stem(self, stem: str) -> GCSPath:
        return self.with_name(stem + self.suffix)

    def parts(self) -> tuple[str, ...]:
        below = self.blob_name.strip("/").split("/") if self.blob_name else []
        return (SCHEME, self.bucket_name, *below)

    def relative_to(self, other: UniversalPath) -> GCSPath:
        if not isinstance(other, GCSPath):
            raise TypeError(f"relative_to needs another GCSPath, not {type(other).__name__}")
        if self.bucket_name != other.bucket_name:
            raise ValueError(f"{self.path!r} and {other.path!r} lie in different buckets")
        mine = [part for part in self.blob_name.split("/") if part]
        theirs = [part for part in other.blob_name.split("/") if part]
        common = 0
        while common < min(len(mine), len(theirs)) and mine[common] == theirs[common]:
            common += 1
        way = [".."] * (len(theirs) - common) + mine[common:]
        return self._at("/".join(way) or ".")

    def is_absolute(self) -> bool:
        return True

    def resolve(self) -> GCSPath:
        return self

    def rmdir(self) -> None:
        if not self.is_dir():
            raise NotADirectoryError(f"{self.path!r} is no folder")
        mark = self._folder() + ".keep"
        if any(item.blob_name != mark for item in self.iterdir()):
            raise OSError(f"{self.path!r} is not empty")
        if self.blob_name and self.bucket.blob(mark).exists():
            self.bucket.blob(mark).delete()

    def unlink(self, missing_ok: bool = False) -> None:
        if self.blob_name and self.blob.exists():
            self.blob.delete()
        elif not missing_ok:
            raise FileNotFoundError(f"{self.path!r} does not exist")

    def rename(self, target: UniversalPath) -> GCSPath:
        if not isinstance(target, GCSPath):
            raise TypeError(f"rename needs another GCSPath, not {type(target).__name__}")
        self._need_blob("rename")
        target.write_bytes(self.read_bytes())
        self.unlink()
        return target

    def stat(self) -> dict[str, Any]:
        blob = self._need_blob("stat")
        if not blob.exists():
            raise FileNotFoundError(f"{self.path!r} does not exist")
        blob.reload()
        updated = blob.updated.timestamp() if blob.updated else 0
        return {
            "size": blob.size or 0,
            "mtime": updated,
            "ctime": blob.time_created.timestamp() if blob.time_created else 0,
            "atime": updated,
            "etag": blob.etag,
            "content_type": blob.content_type,
            "generation": blob.generation,
        }
