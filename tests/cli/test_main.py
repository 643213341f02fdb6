import subprocess
import sys
from pathlib import Path

import pytest

import auctor
from auctor.cli.main import main
from auctor.core.errors import DataError


def run(code):
    """Standard output of a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def one_line(text):
    return text.count("\n") == 1 and text.endswith("\n")


@pytest.mark.parametrize("library", ["typer", "rich"])
@pytest.mark.parametrize("arguments", [["demo"], ["list"], ["--help"], []])
def test_without_the_extra_one_line_says_how_to_install_it(
    library, arguments, monkeypatch, capsys, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, library, None)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert one_line(err)
    assert library in err
    assert 'pip install "auctor[cli]"' in err
    assert not list(tmp_path.iterdir())


def test_version(capsys):
    assert main(["--version"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first == f"auctor {auctor.__version__}"
    assert others[0].startswith("python 3.")
    assert {"numpy", "scipy", "scikit-learn", "numba"} <= {line.split()[0] for line in others}


def test_a_command_leaves_the_process_as_it_was():
    code = (
        "import gc, os, sys; before = dict(os.environ); from auctor.cli.main import main\n"
        "main(['list', 'metrics'])\n"
        "assert dict(os.environ) == before; assert gc.isenabled() and not gc.get_freeze_count()\n"
        "odd = [k for k, m in sys.modules.items() if type(m).__module__.startswith('auctor')]\n"
        "assert not odd, odd"
    )
    run(code)


def test_no_arguments_shows_the_five_commands_people_need(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert "demo" in out + err
    for command in ("compare", "train", "predict", "inspect"):
        assert f"auctor {command}" in out
    assert max(len(line) for line in out.splitlines()) <= 80


@pytest.mark.parametrize(
    "arguments", [["train-everything"], ["demo", "--seed", "-1"], ["demo", "--seed", "x"]]
)
def test_usage_errors_exit_2_without_a_traceback(arguments, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err
    assert "Traceback" not in err


def test_an_auctor_error_is_one_line(monkeypatch, capsys):
    def fail(**settings):
        raise DataError("a\nlabel", got="nothing")

    monkeypatch.setattr("auctor.cli.demo.run_demo", fail)
    assert main(["demo", "--report", "x.html"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "auctor: auctor demo needs a label; got nothing\n")


def test_help_is_quick_because_nothing_heavy_is_imported():
    code = (
        "import sys; from auctor.cli.main import main; code = main(['--help']); "
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn'} & set(sys.modules); "
        "assert not heavy, heavy; sys.exit(code)"
    )
    assert "demo" in run(code)


def test_only_the_command_that_runs_is_built(capsys):
    code = (
        "import sys; from auctor.cli.main import main; main(['list', 'metrics']); "
        "assert 'auctor.cli.train' not in sys.modules"
    )
    run(code)


def test_a_process_runs_what_was_left_for_its_end_and_hands_out_the_code():
    code = (
        "import atexit, runpy, sys; atexit.register(lambda: print('bye')); "
        "sys.argv[1:] = ['list', 'nothing']; runpy.run_module('auctor', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == "bye\n"
    assert done.stderr.count("\n") == 1


EACH_CLOSED = [pytest.param(word, marks=pytest.mark.slow) for word in (">&-", "2>&-")]


@pytest.mark.parametrize("closed", [">&- 2>&-", *EACH_CLOSED])
def test_a_closed_stream_is_nobody_listening(closed, tmp_path):
    out = tmp_path / "rows.csv"
    (tmp_path / "rows.svm").write_text("1 1:2\n-1 2:0.5\n")
    command = f"{sys.executable} -m auctor convert rows.svm rows.csv {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert out.read_text().count("\n") == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_full_standard_output_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "auctor", "list", "metrics"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "needs to write" in done.stderr


def test_a_command_that_is_nearly_one_is_asked_for(capsys):
    assert main(["trian", "x"]) == 2
    said = capsys.readouterr().err
    assert said == "auctor: No such command 'trian'. Did you mean 'train'? See auctor --help.\n"
