"""Every command's help: examples, whose options exist."""

import shlex

import pytest

from auctor.cli.app import COMMANDS, built, function_of
from auctor.cli.main import main

BUILT = built()


def parameters(name):
    return BUILT[name].params


def command_of(line):
    """Command and words of an example, after what is piped into it."""
    words = shlex.split(line)
    if "|" in words:
        words = words[words.index("|") + 1 :]
    assert words[0] == "auctor", line
    return words[1], words[2:]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples(name, capsys):
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Examples" in out
    assert out.count(f"auctor {name}") >= 2  # the usage line and an example


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_parse(name):
    lines = function_of(name).examples
    assert lines
    for line in lines:
        called, words = command_of(line)
        assert called == name, line
        known = {option for p in parameters(name) for option in (*p.opts, *p.secondary_opts)}
        used = {word for word in words if word.startswith("-") and word != "-"}
        assert used <= known, (line, used - known)
        # Values convert, and nothing required is missing.
        words = [word for word in words if word != "--config"]
        context = BUILT[name].make_context(name, words, resilient_parsing=False)
        context.close()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_line(name):
    for parameter in parameters(name):
        if parameter.name != "help":
            assert parameter.help, parameter.name


def test_options_that_several_commands_have_say_the_same():
    """One vocabulary: an option means, and is called, the same everywhere."""
    shared = {
        "--format", "--label", "--categorical", "--buckets", "--zero-based", "--header",
        "--delimiter", "--threads", "--seed", "--json", "--config", "--metric", "--penalty",
        "--l1-ratio", "--tol", "--quiet", "--verbose",
    }  # fmt: skip
    # Only AUC can be streamed, the demo makes its data, and a comparison is fair on one thread.
    exempt = {
        ("stream", "--metric"),
        ("compare", "--threads"),
        ("demo", "--seed"),
        ("demo", "--json"),
    }
    said = {}
    for name in COMMANDS:
        for parameter in parameters(name):
            for option in set(parameter.opts) & shared:
                if (name, option) not in exempt:
                    said.setdefault(option, set()).add(parameter.help)
    assert {option: texts for option, texts in said.items() if len(texts) > 1} == {}
