"""Every script of the gallery runs, and what its text says about the numbers holds."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[2] / "docs" / "gallery"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def fraud(names):
    assert all(model.solution_.certified for model in names["models"].values())
    assert max(names["intervals"], key=lambda name: names["intervals"][name].auc) == "log-loss"
    assert all(test.p_value < 0.05 for test in names["paired"].values())
    costs = names["costs"]
    assert costs["log-loss, cut for the cost"] < 0.8 * costs["log-loss, cut at one half"]
    assert costs["trained for the cost"] < costs["log-loss, cut at one half"] < costs["call nobody"]


def text(names):
    models, used, topic = names["models"], {}, names["topic_words"]
    assert names["X"].shape[1] == 100_000
    assert all(model.solution_.certified for model in models.values())
    for name in ("AUC squared hinge, l1", "log-loss, l1"):
        used[name] = np.flatnonzero(models[name].coef_)
        assert 150 < used[name].size < 300
        assert np.isin(used[name], topic).mean() > 0.7


def sparse_paths(names):
    path, real, test_auc = names["path"], names["real"], names["test_auc"]
    assert path.converged
    assert path.n_nonzero[0] == 0
    assert (np.count_nonzero(real), real.size) == (30, 180)
    assert list(names["names"][:3]) == ["mean radius", "radius error", "worst radius"]
    first = path.coef[np.argmax(path.n_nonzero >= 4)]
    assert not np.any(first[~real])
    assert np.count_nonzero(path.coef[-1, ~real]) > 30
    assert np.count_nonzero(path.coef[-1, real]) < 15
    assert test_auc[-1] < max(test_auc) - 0.005
    best, sparse = names["chosen"]["best"], names["chosen"]["one_standard_error"]
    assert sparse.size < best.size
    assert real[best].mean() > 0.5
    assert real[sparse].all()
    assert real[3 * names["kept"]].all()


def streaming(names):
    nothing, long, short = (learner.trace_ for learner in names["learners"].values())
    steady = (nothing[:, 0] > 30_000) & (nothing[:, 0] <= names["CHANGE"])
    assert short[steady, 1].mean() < long[steady, 1].mean() <= nothing[steady, 1].mean() + 1e-3
    assert nothing[-1, 1] < short[-1, 1] < long[-1, 1]
    lowest = [trace[trace[:, 0] > names["CHANGE"], 1].min() for trace in (nothing, long, short)]
    assert lowest == sorted(lowest)
    assert np.array_equal(names["resumed"].coef_, names["whole"].coef_)


def review_team(names):
    gain = names["differences"]["precision at 200, max-margin"]
    assert gain.mean() > 3.0 * gain.std(ddof=1) / np.sqrt(gain.size)
    assert names["differences"]["AUC"].mean() < -0.05
    assert "vacuous" in str(names["caught"][-1].message)


def auc_or_log_loss(names):
    loss, gain = (names["results"][world] for world in ("linear odds", "two kinds"))
    for name in ("AUC, hinge", "AUC, square", "log-loss, balanced"):
        assert -0.004 < (loss[name] - loss["log-loss"]).mean() < -0.0005
        assert (gain[name] - gain["log-loss"]).mean() > 0.015
        assert names["shares"]["log-loss"] > 1.3 * names["shares"][name]
    gains = {
        (title, name): (values[name] - values["log-loss"]).mean()
        for title, values in names["real"].items()
        for name in list(values)[1:]
    }
    assert -0.02 < gains.pop(("tumours", "AUC, square")) < -0.002
    assert len(gains) == 8
    assert max(map(abs, gains.values())) < 0.002


def covariance(names):
    assert names["model"].gap_ <= 1e-4 * names["n_genes"]
    scores, models = names["scores"], names["models"]
    assert models["likelihood"].strength_ < models["stability"].strength_
    assert scores["stability"] > scores["likelihood"]
    assert all(one.converged for one in names["path"])


def zigzag(names):
    steps = {name: len(points) - 1 for name, points in names["walks"].items()}
    assert steps["Newton"] == 1
    assert names["found"].n_iter == 2
    assert steps["gradient, exact steps"] > 5 * steps["BFGS"]


def poisson(names):
    fits, errors, misled = names["fits"], names["errors"], names["misled"]
    assert fits["gradient descent"].evaluations > 50 * fits["Levenberg-Marquardt"].evaluations
    assert errors["gradient descent"] > 10 * errors["Levenberg-Marquardt"]
    assert errors["Levenberg-Marquardt"] < 2.5e-5
    assert misled["Gauss-Newton"].value > 0.01
    assert misled["Levenberg-Marquardt"].value < 1e-4


def stochastic(names):
    passes = names["passes"]
    assert passes["Sgd", 1_000] > passes["Sgd", 100_000]
    assert passes["Sgd", 100_000] == 1
    assert passes["Lbfgs", 100_000] > 1
    assert passes["Lbfgs", "digits"] < passes["Sgd", "digits"]


def margins(names):
    assert "classes that a hyperplane separates" in names["refusal"]
    assert abs(names["hard"].value - names["dual"].dual_value) < 1e-8
    widths = [found.width for found in names["soft"].values()]
    assert widths == sorted(widths, reverse=True)
    assert all(
        found.value - found.dual_value < 1e-6 * found.value for found in names["soft"].values()
    )
    assert names["least"] > 1.0 - 1e-7


def swiss_roll(names):
    accuracy, widths = names["accuracy"], names["widths"]
    assert accuracy["line in the plane"] < 0.65
    assert accuracy["line, angle features"] < 0.95
    assert accuracy["Gaussian kernel"] > 0.96
    assert max(widths, key=widths.get) in (10.0, 100.0)
    assert widths[0.1] < 0.9
    assert widths[10_000.0] < max(widths.values())


def scorecard(names):
    length = names["flowers"]["petal length"].groupby(names["table"].target).mean()
    assert length[0] < length[1] < length[2]
    assert names["curves_auc"] > names["lines_auc"] + 0.1
    whole, points = names["card"].metric
    assert points > whole - 0.01
    assert names["points_auc"] > names["curves_auc"] - 0.01
    flower, score = dict(names["picked"].iloc[0]), names["space"]["points"]
    short, average, middling, long = (
        score(flower | {"petal length": length}) for length in (1.5, np.nan, 4.3, 5.6)
    )
    assert max(short, long) < average < middling
    gain = names["gain"]
    assert gain.min() < 0.0 < gain.max()
    assert abs(gain.mean()) < gain.std(ddof=1) / np.sqrt(gain.size)


def digits(names):
    found = names["found"]
    trees, ours = found["boosted trees, tuned cut"], found["auctor, trained for F1"]
    assert trees > ours + 0.05
    assert abs(ours - found["logistic regression"]) < 0.05
    assert found["auctor, RBF kernel"] > trees


def taxonomy(names):
    assert names["model"].score(names["X_new"], names["labels_new"]) > 0.6
    assert names["topics"].violations(names["model"].predict_indicator(names["X_new"])).size == 0
    assert "<svg" in names["page"]


def tuning(names):
    scores = [search.best_score_ for search in names["searches"].values()]
    assert max(scores) - min(scores) < 0.01
    assert names["scaled"] < 1e-10
    assert max(names["errors"]) < 1e-6
    assert -names["found"].fun >= -names["validation_auc"](names["start"])
    loss, start = names["validation_loss"], np.array(names["start"])
    slope = [(loss(start + e)[0] - loss(start - e)[0]) / 2e-5 for e in 1e-5 * np.eye(2)]
    np.testing.assert_allclose(loss(start)[1], slope, rtol=1e-5)
    assert names["smooth"].fun < loss(start)[0]


def monitoring(names):
    assert 0.0 < names["by_group"].loc["south", "flagged"] < 0.5
    assert names["after"]["score"].mean() > 1.5 * names["before"]["score"].mean()  # it drifts
    assert set(names["after"]["reason"]) <= {"amount", "hour", "tries", ""}


def load(names):
    assert names["found"]["mape"] < 0.7 * names["other"].metrics()["mape"]
    assert 0.7 < names["found"]["coverage"] < 0.9


CHECKS = {
    check.__name__: check
    for check in (
        fraud,
        text,
        sparse_paths,
        streaming,
        review_team,
        auc_or_log_loss,
        covariance,
        zigzag,
        poisson,
        stochastic,
        margins,
        swiss_roll,
        scorecard,
        digits,
        taxonomy,
        tuning,
        monitoring,
        load,
    )
}


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_runs_and_its_claims_hold(script, tmp_path, monkeypatch):
    import gallery_pages

    monkeypatch.chdir(tmp_path)
    gallery_pages.prepare_drawing()
    page = gallery_pages.make_page(script)
    assert page.markdown.startswith(f"# {page.title}\n")
    assert "```text\n" in page.markdown
    for name, drawn in page.figures.items():
        assert f"]({name})" in page.markdown
        assert "<svg" in drawn
        assert len(drawn) < 400_000
    assert not list(tmp_path.iterdir())
    CHECKS[script.stem](page.names)


def test_all_problems_are_there():
    assert {script.stem for script in SCRIPTS} == set(CHECKS)


def test_parts_of_a_script():
    from gallery_pages import Part, split

    source = '"""Title.\n\nWhy.\n"""\n\nimport os\n\n'
    source += "# %%\n# ## Head\n#\n# Text.\n\nx = 1\n\n# %%\n# End.\n"
    assert split(source) == [
        Part("Title.\n\nWhy.", "import os", 5),
        Part("## Head\n\nText.", "x = 1", 12),
        Part("End.", "", 16),
    ]


def test_what_is_printed_and_an_error_in_a_part(tmp_path):
    from gallery_pages import make_page

    script = tmp_path / "small.py"
    script.write_text(
        '"""Small.\n\nA page.\n"""\n\nx = 2\nprint(x)\n\n# %%\n# More.\n\nraise KeyError(x)\n'
    )
    page = make_page(script, execute=False)
    assert "print(x)" in page.markdown
    assert "```text" not in page.markdown
    with pytest.raises(KeyError) as caught:
        make_page(script)
    assert caught.traceback[-1].lineno == 11
