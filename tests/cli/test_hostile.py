"""Names, labels, files and signals that nobody planned for."""

import os
import signal
import subprocess
import sys
import time
from textwrap import dedent

import numpy as np
import pytest

import auctor
from auctor.cli.main import main

ESCAPES = "\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\u202e"


def table(path, names=("a", "b"), labels=("no", "yes"), rows=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=rows) > 0.0, labels[1], labels[0])
    lines = [f"{a:.4f},{b:.4f},{label}" for (a, b), label in zip(X, y, strict=True)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([",".join((*names, "y")), *lines]) + "\n")
    return path


def acting(text):
    """The control characters in what a terminal would get."""
    return {c for c in text if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)} | (
        {"\u202e"} & set(text)
    )


@pytest.mark.parametrize("escape", ESCAPES, ids=ascii)
def test_escapes_in_names_and_labels_never_reach_the_terminal(escape, tmp_path, capsys):
    data = table(tmp_path / "t.csv", (f"a{escape}", "b"), ("no", f"yes{escape}"))
    model = tmp_path / "m.auctor"
    lines = [
        ["train", data, "--label", "y", "--out", model],
        ["inspect", data, "--label", "y"],
        ["inspect", model],
        ["evaluate", model, data, "--label", "y"],
        ["compare", data, "--label", "y", "--folds", "2"],
        ["train", data, "--label", f"none{escape}", "--out", model],
        ["train", tmp_path / f"none{escape}.csv", "--out", model],
        ["stream", data, "--label", "y", "--out", tmp_path / f"w{escape}.npz"],
        ["convert", data, tmp_path / f"c{escape}.parquet", "--label", "y"],
        [f"none{escape}"],
        ["inspect", data, f"--none{escape}"],
    ]
    for line in lines:
        main(list(map(str, line)))
        out, err = capsys.readouterr()
        assert not acting(out + err), (line, out + err)
        assert out + err


def test_a_file_name_that_is_not_utf8(tmp_path, capsys):
    data = table(os.path.join(os.fsencode(tmp_path), b"caf\xe9.csv"))
    model = os.path.join(os.fsencode(tmp_path), b"m\xe9.auctor")
    data, model = os.fsdecode(data), os.fsdecode(model)
    report = tmp_path / "r.html"
    assert main(["train", data, "--label", "y", "--out", model, "--report", str(report)]) == 0
    for line in (
        ["inspect", model],
        ["inspect", data, "--label", "y"],
        ["evaluate", model, data, "--label", "y"],
        ["evaluate", model, data, "--label", "y", "--json"],
        ["predict", model, data, "--out", str(tmp_path / "p.csv")],
        ["report", model, data, "--out", str(report)],
    ):
        assert main(line) == 0, line
    out, _ = capsys.readouterr()
    out.encode()
    assert "caf\\udce9.csv" in report.read_text(encoding="utf-8")
    auctor.load(model)


@pytest.mark.parametrize("command", ["inspect", "convert", "evaluate"])
@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_devices_and_pipes_are_refused(command, kind, tmp_path, capsys):
    path = tmp_path / "pipe"
    if kind == "zero":
        path = "/dev/zero"
    else:
        os.mkfifo(path)
    lines = {
        "inspect": [path],
        "convert": [path, tmp_path / "out.parquet"],
        "evaluate": [tmp_path / "m.auctor", path],
    }
    assert main([command, *map(str, lines[command])]) == 2
    err = capsys.readouterr().err
    assert "a regular file; got" in err
    assert "a device or a pipe. Copy its rows to a file first." in err


def test_nested_settings_are_an_error(tmp_path, capsys):
    path = tmp_path / "deep.toml"
    path.write_text("a = " + "[" * 100_000 + "]" * 100_000)
    assert main(["train", "x.csv", "--config", str(path)]) == 2
    assert "needs TOML" in capsys.readouterr().err


def started(line, **how):
    """A command in a process of its own."""
    program = "import sys; from auctor.cli.main import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen([sys.executable, "-c", program, *map(str, line)], **how)


def test_a_stream_that_is_terminated_saves_its_state(tmp_path):
    checkpoint = tmp_path / "s.ckpt"
    line = ["stream", "-", "--label", "y", "--format", "csv", "--checkpoint", checkpoint]
    line += ["--chunk-rows", 50, "--out", tmp_path / "m.auctor"]
    process = started(line, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    rows = table(tmp_path / "t.csv", rows=5000).read_bytes()
    process.stdin.write(rows)
    process.stdin.flush()
    time.sleep(4.0)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"continue with --resume" in err
    assert sorted(os.listdir(tmp_path)) == ["m.auctor", "s.ckpt", "t.csv"]


def test_an_interrupt_that_python_drops_is_sent_again():
    # Python prints and forgets an exception of a destructor.
    program = """
        import os, signal, sys, time
        from auctor.cli import main
        class Dropping:
            def __del__(self):
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(1)
        def run(arguments):
            Dropping()
            time.sleep(50)
        main._run = run
        sys.exit(main.main([]))
    """
    done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, timeout=40)
    assert (done.returncode, done.stderr) == (130, b"")


def test_a_signal_while_a_library_is_loaded_is_no_missing_library(tmp_path):
    """A compiled part of a library that is interrupted while it starts raises an ImportError."""
    program = """
        import os, signal, sys
        from auctor.cli import main
        def run(arguments):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            except KeyboardInterrupt as interrupt:
                raise ImportError("initialization failed") from interrupt
        main._run = run
        sys.exit(main.main([]))
    """
    done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, timeout=40)
    assert (done.returncode, done.stderr) == (130, b"")


def test_two_streams_do_not_write_one_checkpoint(tmp_path, capsys):
    from auctor.core.files import sole_writer

    data, checkpoint = table(tmp_path / "t.csv"), tmp_path / "s.ckpt"
    line = ["stream", str(data), "--label", "y", "--checkpoint", str(checkpoint)]
    with sole_writer(checkpoint):
        assert main(line) == 2
        assert "a checkpoint that no other program writes" in capsys.readouterr().err
    assert main(line) == 0


def test_pipes_and_devices_are_no_toml_and_reasons_have_a_bound(tmp_path, capsys):
    data, model = str(table(tmp_path / "t.csv")), str(tmp_path / "m.auctor")
    assert main(["train", data, "--label", "y", "--out", model]) == 0
    os.mkfifo(tmp_path / "pipe.toml")
    capsys.readouterr()
    for pipe in (str(tmp_path / "pipe.toml"), "/dev/zero"):
        for line in (
            ["predict", model, data, "--reasons", "1", "--reason-texts", pipe],
            ["train", data, "--label", "y", "--out", model, "--config", pipe],
        ):
            assert main(line) == 2
            assert "a regular file" in capsys.readouterr().err
    assert main(["predict", model, data, "--reasons", "1000000000"]) == 2
    assert "--reasons" in capsys.readouterr().err
