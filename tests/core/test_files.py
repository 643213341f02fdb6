"""Files are written whole or not at all."""

import fcntl
import os
import subprocess
import sys
import threading

import pytest

from auctor.core.errors import DataError, ParameterError
from auctor.core.files import (
    check_destination,
    check_readable,
    remove_leftovers,
    replacing,
    sole_writer,
    write_bytes,
    write_text,
)


def test_write_and_overwrite(tmp_path):
    path = tmp_path / "r.html"
    for text in ("first", "second ü"):
        write_text(path, text)
        assert path.read_text(encoding="utf-8") == text
    write_bytes(str(path), iter([b"a", b"b"]))
    assert path.read_bytes() == b"ab"
    assert os.listdir(tmp_path) == ["r.html"]


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(call, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")

    def fail(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(ParameterError, match=r"needs to write .*No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


def test_a_source_that_fails_leaves_nothing(tmp_path):
    def parts():
        yield b"some"
        raise DataError("a source that works")

    with pytest.raises(DataError, match="a source that works"):
        write_bytes(tmp_path / "r", parts())
    assert not os.listdir(tmp_path)


def test_an_interrupt_leaves_nothing(tmp_path):
    def parts():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "r", parts())
    assert not os.listdir(tmp_path)


def test_text_that_cannot_be_encoded_is_escaped(tmp_path):
    write_text(tmp_path / "r.html", "a\udce9b")
    assert (tmp_path / "r.html").read_bytes() == b"a\\udce9b"


def test_two_writers_of_one_file(tmp_path):
    contents = [bytes([k]) * 100_000 for k in range(8)]
    threads = [threading.Thread(target=write_bytes, args=(tmp_path / "r", c)) for c in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "r").read_bytes() in contents
    assert os.listdir(tmp_path) == ["r"]


def test_destinations_that_cannot_work(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="existing folder"):
        check_destination(tmp_path / "no" / "r.html")
    with pytest.raises(ParameterError, match="Add a file name"):
        check_destination(tmp_path)
    with pytest.raises(ParameterError, match="file name"):
        check_destination("a\0b")
    with pytest.raises(ParameterError, match="file name that the system accepts"):
        check_destination("a" * 250)
    if os.path.exists("/dev/null"):
        with pytest.raises(ParameterError, match="regular file"):
            check_destination("/dev/null")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ParameterError, match="may write"):
        check_destination(tmp_path / "r.html")


def test_leftovers_of_this_file_alone_are_removed(tmp_path):
    names = {".a[1].12ab.tmp", ".a1.12ab.tmp", ".a[1].b.12ab.tmp", "a[1]", ".a[1].tmp"}
    for name in names:
        (tmp_path / name).write_bytes(b"")
    remove_leftovers(tmp_path / "a[1]")
    assert set(os.listdir(tmp_path)) == names - {".a[1].12ab.tmp"}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "r"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as file:
        (temporary,) = (one for one in tmp_path.iterdir() if one.name.endswith(".tmp"))
        assert temporary.stat().st_mode & 0o777 == mode  # nobody else reads it meanwhile
        file.write(b"new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode


def test_a_new_file_obeys_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "r", "new")
    finally:
        os.umask(before)
    assert (tmp_path / "r").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_followed(exists, tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "r", tmp_path / "link"
    if exists:
        target.write_text("old")
    link.symlink_to(os.path.join("there", "r"))
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["link", "there"]
    assert os.listdir(tmp_path / "there") == ["r"]


def test_temporary_files_of_dead_programs_are_removed_and_of_living_ones_kept(tmp_path):
    dead = tmp_path / ".r.12ab.tmp"
    program = (
        "import fcntl, os, sys; file = open(sys.argv[1], 'wb'); "
        "fcntl.flock(file, fcntl.LOCK_EX); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(dead)], check=False)
    assert dead.exists()
    with open(tmp_path / ".r.34cd.tmp", "wb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        write_text(tmp_path / "r", "new")
        assert sorted(os.listdir(tmp_path)) == [".r.34cd.tmp", "r"]


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path):
    path = tmp_path / "c"
    with sole_writer(path):
        again = sole_writer(path)
        with pytest.raises(DataError, match="which another one is writing"), again:
            pass
        with sole_writer(tmp_path / "other"):
            pass
    with sole_writer(path):
        pass
    assert not os.listdir(tmp_path)


def test_a_lock_of_a_dead_program_is_taken(tmp_path):
    (tmp_path / ".c.lock").write_bytes(b"")
    with sole_writer(tmp_path / "c"):
        pass
    assert not os.listdir(tmp_path)


def test_devices_and_pipes_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(DataError, match="a device or a pipe"):
            check_readable(path)
    check_readable(tmp_path)
    check_readable(tmp_path / "none")
