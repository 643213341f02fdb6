"""Files are written whole or not at all."""

import os
import threading

import pytest

from auctor.core.errors import DataError, ParameterError
from auctor.core.files import (
    check_destination,
    remove_leftovers,
    write_bytes,
    write_text,
)


def test_write_and_overwrite(tmp_path):
    path = tmp_path / "r.html"
    for text in ("first", "second ü"):
        write_text(path, text, who="test")
        assert path.read_text(encoding="utf-8") == text
    write_bytes(str(path), iter([b"a", b"b"]), who="test")
    assert path.read_bytes() == b"ab"
    assert os.listdir(tmp_path) == ["r.html"]


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(call, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")

    def fail(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(ParameterError, match=r"test needs to write .*No space left"):
        write_text(path, "new", who="test")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


def test_a_source_that_fails_leaves_nothing(tmp_path):
    def parts():
        yield b"some"
        raise DataError("it", needs="a source that works")

    with pytest.raises(DataError, match="a source that works"):
        write_bytes(tmp_path / "r", parts(), who="test")
    assert not os.listdir(tmp_path)


def test_an_interrupt_leaves_nothing(tmp_path):
    def parts():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "r", parts(), who="test")
    assert not os.listdir(tmp_path)


def test_text_that_cannot_be_encoded_leaves_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "r.html", "\ud800", who="test")
    assert not os.listdir(tmp_path)


def test_two_writers_of_one_file(tmp_path):
    contents = [bytes([k]) * 100_000 for k in range(8)]
    threads = [
        threading.Thread(target=write_bytes, args=(tmp_path / "r", c), kwargs={"who": "test"})
        for c in contents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "r").read_bytes() in contents
    assert os.listdir(tmp_path) == ["r"]


def test_destinations_that_cannot_work(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="existing folder"):
        check_destination(tmp_path / "no" / "r.html", who="test")
    with pytest.raises(ParameterError, match="Add a file name"):
        check_destination(tmp_path, who="test")
    with pytest.raises(ParameterError, match="file name"):
        check_destination("a\0b", who="test")
    with pytest.raises(ParameterError, match="file name that the system accepts"):
        check_destination("a" * 250, who="test")
    if os.path.exists("/dev/null"):
        with pytest.raises(ParameterError, match="regular file"):
            check_destination("/dev/null", who="test")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ParameterError, match="may write"):
        check_destination(tmp_path / "r.html", who="test")


def test_leftovers_of_this_file_alone_are_removed(tmp_path):
    names = {".a[1].12ab.tmp", ".a1.12ab.tmp", ".a[1].b.12ab.tmp", "a[1]", ".a[1].tmp"}
    for name in names:
        (tmp_path / name).write_bytes(b"")
    remove_leftovers(tmp_path / "a[1]")
    assert set(os.listdir(tmp_path)) == names - {".a[1].12ab.tmp"}
