"""Commands that several tests run."""

import os

from auctor.cli.main import main


def run(*arguments):
    return main(["train", *map(str, arguments)])


def refused(capsys, *arguments):
    """The one line that a command says before it exits with 2 and leaves nothing."""
    before = sorted(os.listdir())
    assert main([*map(str, arguments)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("auctor: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert sorted(os.listdir()) == before
    return err
