"""Where data files come from: bundled, mirror, cache, publisher; verified by checksum.

Every file is registered with the SHA-256 of its uncompressed bytes. A file is taken from
the first place that has it; whatever the place, the checksum must agree.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import http.client
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from groupcf.errors import ChecksumError, ConfigError, SourceUnavailableError

MIRROR_VARIABLE = "GROUPCF_DATA_MIRROR"
OFFLINE_VARIABLE = "GROUPCF_OFFLINE"
DEFAULT_CACHE = Path("data/raw")
TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True)
class Origin:
    """Who published a data set, under what terms, and what to cite.

    Attributes
    ----------
    publisher : str
    page : str
        The publisher's own page; empty when there is none.
    licence : str
    citation : str
    """

    publisher: str
    page: str
    licence: str
    citation: str = ""


@dataclass(frozen=True)
class Download:
    """A file on its publisher's own server.

    Attributes
    ----------
    url : str
    member : tuple of str
        Names inside nested zip archives, outermost first; empty for a plain file.
    convert : callable or None
        Turns the publisher's bytes into the registered file's bytes.
    """

    url: str
    member: tuple[str, ...] = ()
    convert: Callable[[bytes], bytes] | None = None


@dataclass(frozen=True)
class SourceFile:
    """One registered data file.

    Attributes
    ----------
    name : str
        File name in every place; a place may hold it compressed as ``name.gz``.
    sha256 : str or None
        Of the uncompressed bytes; None for a file of a user's choice, taken as it is.
    origin : Origin
    download : Download or None
        None where the file is bundled, or its publisher offers no direct download.
    """

    name: str
    sha256: str | None
    origin: Origin
    download: Download | None = None


def mirror() -> Path | None:
    """Return the mirror directory that the setting names, or None.

    Raises
    ------
    ConfigError
        When the setting names no directory.
    """
    value = os.environ.get(MIRROR_VARIABLE, "").strip()
    if not value:
        return None
    path = Path(value).expanduser()
    if not path.is_dir():
        raise ConfigError(f"{MIRROR_VARIABLE}: {value!r} is not a directory")
    return path


def offline() -> bool:
    """Return whether the setting GROUPCF_OFFLINE forbids the network."""
    return os.environ.get(OFFLINE_VARIABLE, "").strip() not in ("", "0")


def locate(file: SourceFile, cache: Path | None = None) -> tuple[str, Path] | None:
    """Return (place, path) of a file without the network and without reading it, or None."""
    bundled = Path(str(files("groupcf.datasets") / "bundled"))
    places = (("bundled", bundled), ("mirror", mirror()), ("cache", cache or DEFAULT_CACHE))
    for place, directory in places:
        if directory is None:
            continue
        for path in (directory / file.name, directory / f"{file.name}.gz"):
            if path.is_file():
                return place, path
    return None


def fetch(file: SourceFile, cache: Path | None = None) -> tuple[str, bytes]:
    """Return (place, bytes) of a file: bundled, mirror, cache, else its publisher.

    Parameters
    ----------
    file : SourceFile
    cache : Path, optional
        Directory of downloaded files, ``data/raw`` by default.

    Raises
    ------
    ChecksumError
        When the content found is not the registered one.
    SourceUnavailableError
        When no place has the file; the message says what was tried and what to do.
    """
    found = locate(file, cache)
    if found is not None:
        return found[0], _read(file, *found)
    tried = (
        f"{file.name}: not bundled, not in a mirror ({MIRROR_VARIABLE}="
        f"{os.environ.get(MIRROR_VARIABLE, '')!r}), not in the cache {cache or DEFAULT_CACHE}"
    )
    remedy = f"set {MIRROR_VARIABLE} to a directory that holds it"
    if file.download is None:
        raise SourceUnavailableError(f"{tried}, and there is no direct download; {remedy}")
    if offline():
        raise SourceUnavailableError(
            f"{tried}, and {OFFLINE_VARIABLE} forbids the network; {remedy}, or unset "
            f"{OFFLINE_VARIABLE} where there is a network"
        )
    directory = cache or DEFAULT_CACHE
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory):
        found = locate(file, cache)  # another process may just have fetched it
        if found is not None:
            return found[0], _read(file, *found)
        partial = directory / f"{file.name}.part"
        try:
            _transfer(file.download.url, partial)
        except (OSError, http.client.HTTPException) as error:
            raise SourceUnavailableError(
                f"{tried}, and {file.download.url} cannot be had ({error}); {remedy}, or go "
                "online and run again (a partial download is resumed)"
            ) from error
        try:
            content = _unpack(file, file.download, partial.read_bytes())
        finally:
            partial.unlink()
        write_atomically(directory / file.name, content)
        return "network", content


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is either whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _unpack(file: SourceFile, source: Download, raw: bytes) -> bytes:
    """Turn a publisher's answer into the registered file."""
    try:
        for name in source.member:
            raw = zipfile.ZipFile(io.BytesIO(raw)).read(name)
        content = raw if source.convert is None else source.convert(raw)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ChecksumError(
            f"{file.name}: what {source.url} sent cannot be read ({error}); run again, and if "
            f"that does not help its layout has changed: set {MIRROR_VARIABLE} instead"
        ) from error
    _verify(file, content, f"download from {source.url}")
    return content


def _transfer(url: str, partial: Path) -> None:
    """Fetch a URL into a file, going on where an earlier attempt stopped.

    Raises
    ------
    OSError, HTTPException
        When the server cannot be reached or the connection breaks; what came stays.
    """
    have = partial.stat().st_size if partial.is_file() else 0
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urlopen(request, timeout=TIMEOUT_SECONDS)
    except HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
            raise
        partial.unlink()  # the part is no beginning of what the server has now
        return _transfer(url, partial)
    with answer:
        resumed = answer.status == http.client.PARTIAL_CONTENT
        length = answer.headers.get("Content-Length")
        came = 0
        with open(partial, "ab" if resumed else "wb") as out:
            while chunk := answer.read(1 << 16):
                out.write(chunk)
                came += len(chunk)
    if length is not None and came < int(length):
        raise ConnectionError(f"the connection broke after {came} of {length} bytes")


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Let one process at a time download into a directory."""
    with open(directory / ".lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _read(file: SourceFile, place: str, path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise ChecksumError(
                f"{file.name}: the {place} file {path} is not a complete gzip file ({error}); "
                "remove or replace it"
            ) from error
    _verify(file, content, f"{place} file {path}")
    return content


def _verify(file: SourceFile, content: bytes, origin: str) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if file.sha256 is not None and digest != file.sha256:
        raise ChecksumError(
            f"{file.name}: the {origin} has SHA-256 {digest}, registered is {file.sha256}; "
            "remove or replace the file"
        )
