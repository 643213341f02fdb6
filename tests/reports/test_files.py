import os

import pytest

from auctor.core.errors import ParameterError
from auctor.reports import check_destination, write_text


def test_write_and_overwrite(tmp_path):
    path = tmp_path / "r.html"
    for text in ("first", "second ü"):
        write_text(path, text, who="test")
        assert path.read_text(encoding="utf-8") == text
    assert os.listdir(tmp_path) == ["r.html"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")

    def fail(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ParameterError, match="No space left"):
        write_text(path, "new", who="test")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


def test_text_that_cannot_be_encoded_leaves_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "r.html", "\ud800", who="test")
    assert not os.listdir(tmp_path)


def test_destinations_that_cannot_work(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="existing folder"):
        check_destination(tmp_path / "no" / "r.html", who="test")
    with pytest.raises(ParameterError, match="Add a file name"):
        check_destination(tmp_path, who="test")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ParameterError, match="may write"):
        check_destination(tmp_path / "r.html", who="test")
