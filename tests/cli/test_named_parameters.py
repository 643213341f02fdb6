"""Errors of functions below a command name the command and options that can be typed."""

import pytest

from auctor import MetricClassifier
from auctor.cli.main import main
from auctor.core.errors import ParameterError


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    rows = [f"{k * 7 % 13 / 2},{k * 5 % 11 / 4},{k % 2}" for k in range(60)]
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["train", "--class-weight", "1=-2"], "auctor train needs --class-weight > 0; "),
        (["train", "--class-weight", "x=2"], "auctor train needs class weights of the labels 0, 1"),
        (["train", "--class-weight", "1"],
         "auctor train needs --class-weight to be balanced or LABEL=WEIGHT,...; got '1'. Write, "
         "for example, --class-weight yes=10,no=1."),
        (["train", "--monotone", "a"], "auctor train needs --monotone COLUMN=1 (rising) or "),
        (["train", "--surrogate", "exact"],
         "auctor train needs a solver without derivatives for --surrogate exact; got 'auto'. "
         "Use --surrogate auto, or in Python the solver auctor.tune.DfoTr("),
        (["train", "--metric", "precision_at_k(1000)"],
         "auctor train needs k of --metric to be at most the total weight of the rows, "),
        (["train", "--metric", "precision_at_k(1.5)"],
         "auctor train needs k of --metric precision_at_k to be an integer or a fraction"),
        (["train", "--threshold", "top(1000)"],
         "auctor train needs k of --threshold top to be at most the total weight of the rows, "),
        (["train", "--slice", "a"], "got --slice alone. Add --report, or drop --slice."),
        (["stream", "--set", "missing=7"],
         "auctor stream needs --set missing to be one of 'raise', 'skip'; got 7."),
        (["stream", "--set", "rate=1"], "got rate. Drop --set rate."),
        (["stream", "--strength", "-1"], "auctor stream needs --strength in [0, inf); got -1.0."),
        (["stream", "--set", "missing"], "auctor stream needs --set NAME=VALUE; got 'missing'."),
        (["stream", "--metric", "f1"], "auctor stream needs --metric auc, the only metric"),
    ],
)  # fmt: skip
def test_commands_name_their_options(options, said, table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([options[0], table, "--label", "y", *options[1:]]) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_a_folder_without_shards_is_named_by_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "none.shards"]) == 2
    assert "auctor train needs a folder with shards; got none.shards" in capsys.readouterr().err


def test_options_that_need_rows_in_memory_are_shown_as_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "none.shards", "--test", "t.csv"]) == 2
    assert "needs all rows in memory for --test t.csv; got" in capsys.readouterr().err


@pytest.mark.parametrize("solver", ["foo", MetricClassifier])
def test_an_estimator_names_itself_for_an_unknown_solver(solver):
    with pytest.raises(ParameterError, match=r"^MetricClassifier needs solver to be 'auto', "):
        MetricClassifier(solver=solver).fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def test_the_exact_surrogate_says_what_to_pass_in_python():
    with pytest.raises(ParameterError, match=r"for surrogate='exact'; got 'auto'\. Use surrogate="):
        MetricClassifier(surrogate="exact").fit([[0.0], [1.0], [2.0]], [0, 1, 1])
