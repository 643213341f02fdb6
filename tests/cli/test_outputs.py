"""No command writes over what it reads, and none starts if it could not write at the end."""

import errno
import os
from pathlib import Path

import pytest

from auctor.cli.files import check_outputs
from auctor.cli.main import main
from auctor.core.errors import ParameterError
from auctor.core.files import check_destination, replacing


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_same_places(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("")
    os.link(data, tmp_path / "linked")
    (tmp_path / "soft").symlink_to(data)
    (tmp_path / "folder").mkdir()
    for out in (data, "data.csv", "folder/../data.csv", "linked", "soft"):
        with pytest.raises(ParameterError, match=r"needs another file to write to; .* twice"):
            check_outputs([None, out], ["-", None, data])
    with pytest.raises(ParameterError, match="twice"):
        check_outputs(["new.html", tmp_path / "folder" / ".." / "new.html"], [])
    check_outputs(["-", "new.html", None, "-"], ["-", data, "absent", "a\0b"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "rows.csv", "--out", "rows.csv"],
        ["train", "rows.csv", "--report", "./rows.csv"],
        ["train", "rows.csv", "--test", "test.csv", "--out", "test.csv"],
        ["train", "rows.csv", "--out", "new", "--report", "new"],
        ["train", "rows.csv", "--config", "auctor.toml", "--out", "auctor.toml"],
        ["predict", "model.auctor", "rows.csv", "--out", "rows.csv"],
        ["predict", "model.csv", "rows.csv", "--out", "model.csv"],
        ["report", "model.auctor", "rows.csv", "--out", "rows.csv"],
        ["report", "model.auctor", "rows.csv", "--out", "model.auctor"],
        ["convert", "rows.csv", "rows.csv"],
        ["convert", "model.auctor", "model.auctor"],
        ["stream", "test.csv", "rows.csv", "--checkpoint", "rows.csv"],
        ["stream", "model.auctor", "--out", "model.auctor"],
        ["stream", "rows.csv", "--out", "new.json", "--checkpoint", "new.json"],
    ],
)
def test_outputs_are_no_inputs(arguments, tmp_path, table, trained, refused):
    for copy in ("test.csv", "model.csv"):
        (tmp_path / copy).write_bytes((table if copy == "test.csv" else trained).read_bytes())
    (tmp_path / "auctor.toml").write_text('label = "bought"\n')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert "needs another file to write to" in refused(*arguments)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_takes_no_file_is_refused_before_any_work(monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(ParameterError) as caught:
        check_destination(tmp_path / "a.html")
    said = "auctor needs to write a.html; got Read-only file system. Pass another path."
    assert str(caught.value).replace(f"{tmp_path}/", "") == said


def test_only_a_full_disk_calls_for_space(tmp_path):
    for number, advice in ((errno.ENOSPC, "Free some space or pass"), (errno.EIO, "Pass")):
        with (
            pytest.raises(ParameterError, match=rf"\. {advice} another path\.$"),
            replacing(tmp_path / "a"),
        ):
            raise OSError(number, os.strerror(number))
    assert check_destination(tmp_path / "a") == tmp_path / "a"
    assert not list(tmp_path.iterdir())


def test_convert_writes_only_formats_that_a_name_says(table, tmp_path, refused):
    options = [table, "b.xyz", "--label", "bought", "--unlabelled"]
    said = refused("convert", *options)
    assert "got b.xyz. Pass --to with the format" in said
    assert "b.xyz.gz" in refused("convert", table, "b.xyz.gz", "--label", "bought")
    assert main(["convert", *map(str, options), "--to", "csv"]) == 0
    (tmp_path / "two.csv").write_text("a,y\n1,0\n2,1\n")
    for name in ("b", "b.svm", "b.LIBSVM", "b.svmlight.gz", "b.txt", "b.dat"):
        assert main(["convert", "two.csv", name]) == 0
        assert (tmp_path / name).exists()
