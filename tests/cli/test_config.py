"""Options from a file."""

import json

import pytest

import auctor
from auctor.cli.main import main
from tests.cli.commands import refused

pytestmark = pytest.mark.usefixtures("in_folder")


def test_options_from_a_file_below_those_of_the_command_line(svm, tmp_path, capsys):
    (tmp_path / "auctor.toml").write_text(
        f"""
        seed = 5
        [train]
        data = "{svm}"
        metric = "log_loss"
        strength = 0.5
        max-iter = 20
        no_intercept = true
        json = true
        [predict]
        labels = true
        """
    )
    assert main(["train", "--config", "auctor.toml", "--strength", "0.25"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metric"] == "log_loss"
    assert found["strength"] == 0.25
    model = auctor.load("model.auctor")
    assert model.max_iter == 20
    assert model.fit_intercept is False
    assert model.random_state == 5
    assert main(["predict", "model.auctor", str(svm), "--config", "auctor.toml"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "predicted"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[train]\nmetrik = 'auc'", "metrik. Did you mean metric?"),
        ("[trian]\nmetric = 'auc'", "trian. Did you mean train?"),
        ("strenght = 1", "strenght. Did you mean strength?"),
        ("[train]\nzzzzzz = 1", "zzzzzz. Remove it."),
        ("[train]\nno-intercept = 'yes'", "true or false"),
        ("[train]\nmetric = true", "a number or text"),
        ("[train]\nmetric = ['auc']", "a number or text"),
        ("[train]\ntol = 'much'", "--tol"),
        ("[train", "needs TOML"),
    ],
)
def test_bad_config(text, said, svm, tmp_path, capsys):
    (tmp_path / "auctor.toml").write_text(text)
    err = refused(capsys, "train", svm, "--config", "auctor.toml")
    assert said in err


def test_config_that_is_not_there(svm, capsys):
    assert "No such file" in refused(capsys, "train", svm, "--config", "no.toml")
