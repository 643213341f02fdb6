"""``auctor predict --reasons``."""

import numpy as np
import pandas as pd

import auctor
from auctor.cli.main import main


def test_reasons_sum_to_the_scores(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(40, 3))
    frame = pd.DataFrame(X, columns=["income", "age", "debt"])
    model = auctor.TableClassifier("auc", strength=0.01).fit(frame, X @ [1.0, 0.5, 0.2] > 0.3)
    auctor.save(model, tmp_path / "m.auctor")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "texts.toml").write_text('income = "Income is high"\n')
    files = [str(tmp_path / name) for name in ("m.auctor", "rows.csv")]
    words = ["--reasons", "2", "--reason-texts", str(tmp_path / "texts.toml"), "--baseline", "best"]
    assert main(["predict", *files, *words, "--out", str(tmp_path / "out.csv")]) == 0
    found = pd.read_csv(tmp_path / "out.csv")
    total = found[["baseline", "reason_1_part", "reason_2_part", "rest"]].sum(axis=1)
    np.testing.assert_allclose(total, found["score"], rtol=1e-12, atol=1e-12)
    wanted = model.reasons(frame, 2, baseline="best")
    assert found["reason_1"].tolist() == wanted.names[:, 0].tolist()
    assert set(found["reason_1_text"]) <= {"Income is high", "age", "debt"}
    np.testing.assert_allclose(found["reason_1_value"], wanted.values[:, 0].astype(float))
    capsys.readouterr()
    for more, message in [
        (["--reason-texts", "t.toml"], "predict needs --reasons N"),
        (["--reasons", "2", "--out", "o.npy"], "a file that can hold text for --reasons"),
    ]:
        assert main(["predict", *files, *more]) == 2
        assert message in " ".join(capsys.readouterr().err.split())


def test_reasons_of_a_kernel_machine_are_refused(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(40, 2))
    auctor.save(auctor.kernel.KernelClassifier().fit(X, X[:, 0] > 0), tmp_path / "m.auctor")
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",")
    assert main(["predict", f"{tmp_path}/m.auctor", f"{tmp_path}/rows.csv", "--reasons", "2"]) == 2
    assert "a linear or additive model for --reasons" in " ".join(capsys.readouterr().err.split())
