"""A run that goes on must go on with the same columns and the same labels."""

import warnings

import numpy as np
import pytest

from auctor import StreamingAUC
from auctor.cli.main import main
from auctor.core.archive import write_archive
from auctor.core.errors import AuctorError, DataError
from auctor.streaming import learn, load_checkpoint
from auctor.streaming.checkpoint import read_checkpoint
from auctor.tables import ReadOptions, open_stream

ROWS = 90


def table(path, names="a,b,y", order=(0, 1, 2)):
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    columns = [rng.normal(size=ROWS) + y, rng.normal(size=ROWS), y]
    lines = ["" if names is None else names]
    lines += [",".join(f"{columns[k][i]:g}" for k in order) for i in range(ROWS)]
    path.write_text("\n".join(lines).strip() + "\n")
    return path


@pytest.fixture
def rows(tmp_path):
    return table(tmp_path / "rows.csv")


@pytest.fixture
def kept(rows, tmp_path):
    """A checkpoint after 50 rows."""
    learn(StreamingAUC(grow=True), open_stream(rows), checkpoint=tmp_path / "kept", limit=50)
    return tmp_path / "kept"


def go_on(source, kept, **options):
    learner = StreamingAUC(grow=True)
    learn(learner, open_stream(source, ReadOptions(**options)), checkpoint=kept, resume=True)
    return learner


def test_the_same_table(rows, kept):
    meta = read_checkpoint(kept)[0]
    assert (meta["row"], meta["feature_names"], meta["label"]) == (50, ["a", "b"], "y")
    whole = StreamingAUC(grow=True)
    learn(whole, rows)
    assert go_on(rows, kept).coef_.tobytes() == whole.coef_.tobytes()
    assert read_checkpoint(kept)[0]["label"] == "y"


@pytest.mark.parametrize(
    ("names", "order", "said"),
    [
        ("b,a,y", (1, 0, 2), "another order"),
        ("a,c,y", (0, 1, 2), "a difference in b, c"),
        ("a,b,c,y", (0, 1, 1, 2), "a difference in c"),
    ],
)
def test_other_columns(names, order, said, kept, tmp_path):
    other = table(tmp_path / "other.csv", names, order)
    before = kept.read_bytes()
    with pytest.raises(DataError, match=f"the same columns in every part; got {said}"):
        go_on(other, kept)
    assert kept.read_bytes() == before


def test_another_label(kept, tmp_path):
    other = table(tmp_path / "other.csv", "a,b,z")
    with pytest.raises(DataError, match=r"column 'y'; got column 'z'\. Pass label='y'"):
        go_on(other, kept, label="z")


def test_labels_of_a_table_without_names(tmp_path):
    rows, kept = table(tmp_path / "rows.csv", None, (2, 1, 2)), tmp_path / "kept"
    learn(
        StreamingAUC(grow=True), open_stream(rows, ReadOptions(label=0)), checkpoint=kept, limit=50
    )
    assert read_checkpoint(kept)[0]["label"] == "column_1"
    with pytest.raises(DataError, match="column 'column_1'; got column 'column_3'"):
        go_on(rows, kept, label=-1)
    go_on(rows, kept, label=-3)


def test_checkpoints_of_before(rows, kept):
    meta, arrays = read_checkpoint(kept)
    for name in ("label", "feature_names"):
        del meta[name]
    write_archive(kept, meta, arrays, kind="checkpoint")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert go_on(rows, kept).rows_seen_ == ROWS


def test_a_label_that_is_no_name(kept):
    meta, arrays = read_checkpoint(kept)
    write_archive(kept, meta | {"label": 3}, arrays, kind="checkpoint")
    with pytest.raises(AuctorError, match="incomplete"):
        load_checkpoint(kept, StreamingAUC(grow=True))


def test_on_the_command_line(rows, kept, tmp_path, capsys):
    other = table(tmp_path / "other.csv", "b,a,y", (1, 0, 2))
    options = ["--checkpoint", str(kept), "--resume"]
    assert main(["stream", str(other), *options]) == 2
    assert "got another order" in capsys.readouterr().err
    assert main(["stream", str(rows), *options, "--label", "b"]) == 2
    assert "a difference in" in capsys.readouterr().err
    table(tmp_path / "other.csv", "a,b,z")
    assert main(["stream", str(other), *options, "--label", "z"]) == 2
    assert "Pass --label y, or another checkpoint." in capsys.readouterr().err
    assert main(["stream", str(rows), *options]) == 0


def test_classes_are_shown_as_they_are_written(rows, tmp_path, capsys):
    assert main(["stream", str(rows), "--json", "--checkpoint", str(tmp_path / "c")]) == 0
    assert '"classes": [\n    0,\n    1\n  ]' in capsys.readouterr().out
    assert read_checkpoint(tmp_path / "c")[0]["classes"]["dtype"] == "<f8"
