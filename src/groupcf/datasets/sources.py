"""Where data files come from: bundled, mirror, cache, publisher; verified by checksum.

Every file is registered with the SHA-256 of its uncompressed bytes. A file is taken from
the first place that has it; whatever the place, the checksum must agree.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from groupcf.errors import ChecksumError, ConfigError, SourceUnavailableError

MIRROR_VARIABLE = "GROUPCF_DATA_MIRROR"
OFFLINE_VARIABLE = "GROUPCF_OFFLINE"
DEFAULT_CACHE = Path("data/raw")
TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True)
class Publisher:
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
    """One registered data file."""

    name: str
    sha256: str
    licence: str
    publisher: Publisher | None = None


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


def locate(file: SourceFile, cache: Path | None = None) -> tuple[str, bytes] | None:
    """Return (place, bytes) of a file without using the network, or None.

    Raises
    ------
    ChecksumError
        When a place has the file with other content than registered.
    """
    bundled = files("groupcf.datasets") / "bundled"
    places = [("bundled", Path(str(bundled))), ("mirror", mirror()), ("cache", _cache(cache))]
    for place, directory in places:
        if directory is None:
            continue
        for path in (directory / file.name, directory / f"{file.name}.gz"):
            if path.is_file():
                return place, _verified(file, _read(path), f"{place} file {path.name}")
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
        return found
    if file.publisher is None:
        raise SourceUnavailableError(
            f"{file.name}: not bundled, not in the mirror ({MIRROR_VARIABLE}="
            f"{os.environ.get(MIRROR_VARIABLE, '')!r}), and its publisher offers no direct "
            f"download; set {MIRROR_VARIABLE} to a directory that holds it"
        )
    if os.environ.get(OFFLINE_VARIABLE):
        raise SourceUnavailableError(
            f"{file.name}: not bundled, not in a mirror, not in the cache, and "
            f"{OFFLINE_VARIABLE} forbids the network; set {MIRROR_VARIABLE} to a directory "
            "that holds it"
        )
    target = _cache(cache) / file.name
    raw = download(file.publisher.url, target.with_name(target.name + ".download"))
    try:
        content = _unpack(raw, file.publisher)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ChecksumError(
            f"{file.name}: what {file.publisher.url} sent cannot be read ({error}); "
            "its layout has changed, use a mirror"
        ) from error
    content = _verified(file, content, f"download from {file.publisher.url}")
    write_atomically(target, content)
    target.with_name(target.name + ".download").unlink(missing_ok=True)
    return "network", content


def download(url: str, target: Path) -> bytes:
    """Download a file, resuming a partial one, and return its bytes.

    Raises
    ------
    SourceUnavailableError
        When the server cannot be reached; the partial file stays for the next attempt.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_file():
        return target.read_bytes()
    partial = target.with_name(target.name + ".part")
    have = partial.stat().st_size if partial.is_file() else 0
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            mode = "ab" if have and answer.status == 206 else "wb"
            with open(partial, mode) as out:
                while chunk := answer.read(1 << 16):
                    out.write(chunk)
    except (URLError, OSError) as error:
        raise SourceUnavailableError(
            f"{url} cannot be reached ({error}); go online and try again (a partial download "
            f"is resumed), or set {MIRROR_VARIABLE} to a directory that holds the file"
        ) from error
    os.replace(partial, target)
    return target.read_bytes()


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


def _cache(cache: Path | None) -> Path:
    return DEFAULT_CACHE if cache is None else cache


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            return gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise ChecksumError(f"{path.name}: not a complete gzip file ({error})") from error
    return content


def _unpack(raw: bytes, publisher: Publisher) -> bytes:
    for name in publisher.member:
        raw = zipfile.ZipFile(io.BytesIO(raw)).read(name)
    return raw if publisher.convert is None else publisher.convert(raw)


def _verified(file: SourceFile, content: bytes, origin: str) -> bytes:
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise ChecksumError(
            f"{file.name}: the {origin} has SHA-256 {digest}, registered is {file.sha256}; "
            "remove or replace the file"
        )
    return content
