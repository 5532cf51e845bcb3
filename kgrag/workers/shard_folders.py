"""Where workers leave files: a folder that they share, or a bucket of an S3-compatible store (``s3://BUCKET/PREFIX``).

A file is whole or absent in both. Keys, region and address of a store are those of the environment, as for other
clients of S3: ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``, ``AWS_REGION`` (default
us-east-1), and ``AWS_ENDPOINT_URL_S3`` or ``AWS_ENDPOINT_URL`` for another store than that of AWS.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from kgrag.errors import InputError, StorageFailed

__all__ = ["ShardFolder", "is_bucket", "shard_folder"]

_SCHEME = "s3://"


class ShardFolder(Protocol):
    """Files by name."""

    def read(self, name: str) -> bytes:
        """Return a file. Raises FileNotFoundError, StorageFailed."""

    def put(self, name: str, content: bytes) -> None:
        """Write a file, in the place of one of this name. Raises StorageFailed."""

    def has(self, name: str) -> bool:
        """Return whether there is such a file. Raises StorageFailed."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there. Raises StorageFailed."""

    def make(self) -> None:
        """Make the folder, where it has to be made. Raises StorageFailed."""

    def clear(self) -> None:
        """Remove the folder and all files in it, as far as that can be done."""


def is_bucket(address: str) -> bool:
    """Return whether an address is of a bucket, and not a path."""
    return address.startswith(_SCHEME)


@cache
def shard_folder(address: str) -> ShardFolder:
    """Return the folder of a path or of ``s3://BUCKET/PREFIX``.

    Raises:
        InputError: there is no bucket in the address, or pyarrow was made without S3.
    """
    return _Bucket(_bucket(), _path(address)) if is_bucket(address) else _Folder(Path(address))


def _path(address: str) -> str:
    path = address.removeprefix(_SCHEME).strip("/")
    if not path:
        raise InputError(f"{address!r} names no bucket. Write s3://BUCKET/PREFIX.")
    return path


def _bucket() -> Any:
    try:
        from pyarrow.fs import S3FileSystem
    except ImportError as error:
        raise InputError(f"this pyarrow knows no S3 ({error}). Install another, or share a folder.") from None
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    return S3FileSystem(endpoint_override=endpoint, region=region)


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path

    def read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageFailed(f"{self.path / name} cannot be read: {error.strerror}. Run the same again.") from error

    def put(self, name: str, content: bytes) -> None:
        """Write a file that is whole or absent, also after a power cut."""
        path = self.path / name
        part = path.with_name(f"{name}.{uuid4().hex}.part")
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            raise StorageFailed(f"{path} cannot be written: {error}. Free space, or choose another folder.") from error

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def make(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed(f"{self.path} cannot be made: {error.strerror}. Choose another folder.") from error

    def clear(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Bucket:
    """``files`` is an S3FileSystem: an upload is there when it is complete, and not before."""

    files: Any
    path: str

    def read(self, name: str) -> bytes:
        try:
            with self.files.open_input_stream(f"{self.path}/{name}") as stream:
                content: bytes = stream.read()
                return content
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._refused("read", name, error) from error

    def put(self, name: str, content: bytes) -> None:
        try:
            with self.files.open_output_stream(f"{self.path}/{name}") as stream:
                stream.write(content)
        except OSError as error:
            raise self._refused("written", name, error) from error

    def has(self, name: str) -> bool:
        try:
            return bool(self.files.get_file_info(f"{self.path}/{name}").is_file)
        except OSError as error:
            raise self._refused("found", name, error) from error

    def remove(self, name: str) -> None:
        try:
            self.files.delete_file(f"{self.path}/{name}")
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._refused("removed", name, error) from error

    def make(self) -> None:
        """There is nothing to make: a bucket has no folders."""

    def clear(self) -> None:
        self.files.delete_dir(self.path)

    def _refused(self, doing: str, name: str, error: OSError) -> StorageFailed:
        place = f"{_SCHEME}{self.path}/{name}"
        return StorageFailed(f"{place} cannot be {doing}: {error}. Check AWS_ENDPOINT_URL, keys and bucket.")
