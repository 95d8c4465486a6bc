"""Where files come from, and what happens when they cannot be had."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import pytest

from groupcf.datasets.registry import FILES
from groupcf.datasets.sources import Download, Origin, SourceFile, fetch, locate, write_atomically
from groupcf.errors import ChecksumError, ConfigError, SourceUnavailableError

CONTENT = b"a,b\n1,2\n" * 5000


def registered(content: bytes = CONTENT, download: Download | None = None) -> SourceFile:
    origin = Origin("somebody", "", "free")
    return SourceFile("table.csv", hashlib.sha256(content).hexdigest(), origin, download)


@pytest.fixture
def server():
    """A publisher on the loopback that serves `server.files` and honours ranges."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.server.files.get(self.path)
            if body is None:
                self.send_error(404)
                return
            wanted = self.headers.get("Range")
            self.server.ranges.append(wanted)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            if wanted and start >= len(body):
                self.send_error(416)
                return
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            self.wfile.write(body[start : start + self.server.limit])

        def log_message(self, *args):
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.files, httpd.ranges, httpd.limit = {}, [], 1 << 30
    httpd.url = f"http://127.0.0.1:{httpd.server_port}"
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield httpd
    httpd.shutdown()
    httpd.server_close()


@pytest.mark.parametrize("name", sorted(FILES))
def test_bundled_files_have_their_registered_checksum(name, no_mirror, tmp_path):
    found = locate(FILES[name], tmp_path)
    if found is None:
        with pytest.raises(SourceUnavailableError, match=name):
            fetch(FILES[name], tmp_path)
    else:
        assert fetch(FILES[name], tmp_path)[0] == found[0] == "bundled"


def test_only_files_that_no_package_ships_need_a_mirror_or_the_network(no_mirror, tmp_path):
    assert {name for name, file in FILES.items() if locate(file, tmp_path) is None} == {
        "Students-Performance-MAT.csv",
        "NATOPS_TRAIN.ts",
        "NATOPS_TEST.ts",
        "banks1_efficiency_reference.csv",
    }


def test_every_bundled_file_is_registered_and_small():
    bundled = Path(str(files("groupcf.datasets") / "bundled"))
    held = {p.name.removesuffix(".gz"): p.stat().st_size for p in bundled.iterdir()}
    assert held.pop("LICENCES.md")
    assert set(held) <= set(FILES)
    assert max(held.values()) < 1_500_000
    licences = (bundled / "LICENCES.md").read_text()
    assert all(name.replace("TRAIN", "*").replace("TEST", "*") in licences for name in held)


def test_the_readme_lists_every_file_and_checksum():
    text = (Path(__file__).parents[2] / "data" / "README.md").read_text()
    assert all(f"| {file.name} | {file.sha256} |" in text for file in FILES.values())


@pytest.mark.mirror
def test_every_registered_file_is_bundled_or_in_the_mirror(mirror, tmp_path):
    for file in FILES.values():
        assert fetch(file, tmp_path)[0] in ("bundled", "mirror")


@pytest.mark.mirror
@pytest.mark.parametrize(
    "name",
    ["boston_house_prices.csv", "UCI_Credit_Card.csv", "banks1.csv"]
    + [n for n in FILES if n.startswith(("Italy", "Basic"))],
)
def test_bundled_and_mirror_file_are_the_same(mirror, name):
    path = mirror / name
    packed = mirror / f"{name}.gz"
    content = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
    assert hashlib.sha256(content).hexdigest() == FILES[name].sha256


def test_mirror_serves_plain_and_compressed_files(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUPCF_DATA_MIRROR", str(tmp_path))
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(CONTENT))
    assert fetch(registered()) == ("mirror", CONTENT)


def test_a_file_with_another_content_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUPCF_DATA_MIRROR", str(tmp_path))
    (tmp_path / "table.csv").write_bytes(CONTENT + b"x")
    with pytest.raises(ChecksumError, match=r"table\.csv.*mirror file.*remove or replace"):
        fetch(registered())


def test_a_truncated_archive_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUPCF_DATA_MIRROR", str(tmp_path))
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(CONTENT)[:-9])
    with pytest.raises(ChecksumError, match="gzip"):
        fetch(registered())


def test_a_mirror_that_is_no_directory_is_a_configuration_error(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUPCF_DATA_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="GROUPCF_DATA_MIRROR"):
        fetch(registered())


def test_offline_without_a_source_says_what_to_do(no_mirror, tmp_path):
    file = registered(download=Download("http://127.0.0.1:9/table.csv"))
    with pytest.raises(SourceUnavailableError, match="set GROUPCF_DATA_MIRROR"):
        fetch(file, tmp_path)


def test_an_unreachable_publisher_leaves_no_file_behind(online, tmp_path):
    file = registered(download=Download("http://127.0.0.1:9/table.csv"))
    with pytest.raises(SourceUnavailableError, match=r"cannot be had.*set GROUPCF_DATA_MIRROR"):
        fetch(file, tmp_path / "raw")
    assert visible(tmp_path / "raw") == []


def test_download_is_cached_and_resumed(online, tmp_path, server):
    server.files["/table.csv"] = CONTENT
    (tmp_path / "table.csv.part").write_bytes(CONTENT[:1000])
    file = registered(download=Download(f"{server.url}/table.csv"))
    assert fetch(file, tmp_path) == ("network", CONTENT)
    assert server.ranges == ["bytes=1000-"]
    assert fetch(file, tmp_path) == ("cache", CONTENT)
    assert visible(tmp_path) == ["table.csv"]


def test_a_broken_connection_is_no_file_and_the_next_attempt_goes_on(online, tmp_path, server):
    server.files["/table.csv"] = CONTENT
    server.limit = 1500
    file = registered(download=Download(f"{server.url}/table.csv"))
    with pytest.raises(SourceUnavailableError, match="broke after 1500 of 40000 bytes"):
        fetch(file, tmp_path)
    assert visible(tmp_path) == ["table.csv.part"]
    server.limit = 1 << 30
    assert fetch(file, tmp_path) == ("network", CONTENT)
    assert server.ranges == [None, "bytes=1500-"]


@pytest.mark.parametrize("left", [CONTENT, CONTENT + b"more"])
def test_a_part_that_cannot_be_continued_is_fetched_anew(online, tmp_path, server, left):
    server.files["/table.csv"] = CONTENT
    (tmp_path / "table.csv.part").write_bytes(left)
    file = registered(download=Download(f"{server.url}/table.csv"))
    assert fetch(file, tmp_path) == ("network", CONTENT)


def test_a_bad_download_does_not_spoil_the_next_attempt(online, tmp_path, server):
    server.files["/table.csv"] = b"down for maintenance"
    file = registered(download=Download(f"{server.url}/table.csv"))
    with pytest.raises(ChecksumError, match=r"table\.csv"):
        fetch(file, tmp_path)
    assert visible(tmp_path) == []
    server.files["/table.csv"] = CONTENT
    assert fetch(file, tmp_path) == ("network", CONTENT)


def test_two_processes_at_once_download_once(online, tmp_path, server):
    server.files["/table.csv"] = CONTENT
    file = registered(download=Download(f"{server.url}/table.csv"))
    with ThreadPoolExecutor(4) as pool:
        answers = [f.result() for f in [pool.submit(fetch, file, tmp_path) for _ in range(4)]]
    assert sorted(place for place, _ in answers) == ["cache", "cache", "cache", "network"]
    assert len(server.ranges) == 1


def test_a_member_of_an_archive_is_unpacked_and_converted(online, tmp_path, server):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as z:
        z.writestr("t.csv", CONTENT.upper())
    server.files["/all.zip"] = inner.getvalue()
    download = Download(f"{server.url}/all.zip", ("t.csv",), bytes.lower)
    assert fetch(registered(download=download), tmp_path)[1] == CONTENT


@pytest.mark.parametrize("sent", [b"not a zip", CONTENT])
def test_a_publisher_that_sends_something_else_is_caught(online, tmp_path, server, sent):
    server.files["/x"] = sent
    file = registered(
        b"other", Download(f"{server.url}/x", ("t.csv",) if sent[:3] == b"not" else ())
    )
    with pytest.raises(ChecksumError, match=r"table\.csv"):
        fetch(file, tmp_path)
    assert not (tmp_path / "table.csv").exists()


def visible(directory: Path) -> list[str]:
    return sorted(p.name for p in directory.iterdir() if p.name != ".lock")


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    target = tmp_path / "file"
    write_atomically(target, b"old")
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
