"""Where files come from, and what happens when they cannot be had."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import threading
import zipfile

import pytest

from groupcf.datasets.registry import FILES
from groupcf.datasets.sources import Publisher, SourceFile, fetch, locate, write_atomically
from groupcf.errors import ChecksumError, ConfigError, SourceUnavailableError

CONTENT = b"a,b\n1,2\n" * 5000


def registered(content: bytes = CONTENT, publisher: Publisher | None = None) -> SourceFile:
    return SourceFile("table.csv", hashlib.sha256(content).hexdigest(), "test", publisher)


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
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            self.wfile.write(body[start:])

        def log_message(self, *args):
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.files, httpd.ranges = {}, []
    httpd.url = f"http://127.0.0.1:{httpd.server_port}"
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield httpd
    httpd.shutdown()
    httpd.server_close()


@pytest.mark.parametrize("name", sorted(FILES))
def test_bundled_files_have_their_registered_checksum(name, no_mirror, tmp_path):
    found = locate(FILES[name], tmp_path)
    assert found is None or found[0] == "bundled"


def test_every_file_is_bundled_or_in_the_mirror(mirror, tmp_path):
    for file in FILES.values():
        assert locate(file, tmp_path) is not None, file.name


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
    file = registered(publisher=Publisher("http://127.0.0.1:9/table.csv"))
    with pytest.raises(SourceUnavailableError, match="set GROUPCF_DATA_MIRROR"):
        fetch(file, tmp_path)


def test_an_unreachable_publisher_leaves_nothing_behind(no_mirror, tmp_path, monkeypatch):
    monkeypatch.delenv("GROUPCF_OFFLINE")
    file = registered(publisher=Publisher("http://127.0.0.1:9/table.csv"))
    with pytest.raises(SourceUnavailableError, match="cannot be reached"):
        fetch(file, tmp_path / "raw")
    assert not list((tmp_path / "raw").iterdir())


def test_download_is_cached_and_resumed(no_mirror, tmp_path, monkeypatch, server):
    monkeypatch.delenv("GROUPCF_OFFLINE")
    server.files["/table.csv"] = CONTENT
    (tmp_path / "table.csv.download.part").write_bytes(CONTENT[:1000])
    file = registered(publisher=Publisher(f"{server.url}/table.csv"))
    assert fetch(file, tmp_path) == ("network", CONTENT)
    assert server.ranges == ["bytes=1000-"]
    assert fetch(file, tmp_path) == ("cache", CONTENT)
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_a_member_of_an_archive_is_unpacked_and_converted(no_mirror, tmp_path, monkeypatch, server):
    monkeypatch.delenv("GROUPCF_OFFLINE")
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as z:
        z.writestr("t.csv", CONTENT.upper())
    server.files["/all.zip"] = inner.getvalue()
    publisher = Publisher(f"{server.url}/all.zip", ("t.csv",), bytes.lower)
    assert fetch(registered(publisher=publisher), tmp_path)[1] == CONTENT


@pytest.mark.parametrize("sent", [b"not a zip", CONTENT])
def test_a_publisher_that_sends_something_else_is_caught(
    no_mirror, tmp_path, monkeypatch, server, sent
):
    monkeypatch.delenv("GROUPCF_OFFLINE")
    server.files["/x"] = sent
    file = registered(
        b"other", Publisher(f"{server.url}/x", ("t.csv",) if sent[:3] == b"not" else ())
    )
    with pytest.raises(ChecksumError, match=r"table\.csv"):
        fetch(file, tmp_path)
    assert not (tmp_path / "table.csv").exists()


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    target = tmp_path / "file"
    write_atomically(target, b"old")
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
