"""Taxonomies from everything people have, and errors that name the trouble."""

import numpy as np
import pytest

from auctor.core.errors import DataError
from auctor.hierarchy import Taxonomy


def test_parents_come_first_whatever_the_input():
    taxonomy = Taxonomy.from_parents({"c": "b", "b": "a", "a": None, "x": None})
    assert taxonomy.names == ("a", "x", "b", "c")
    assert taxonomy.parent.tolist() == [-1, -1, 0, 2]
    assert taxonomy.depth.tolist() == [0, 0, 1, 2]
    assert taxonomy.leaves.tolist() == [False, True, False, True]


def test_equal_names_under_different_parents_stay_different():
    taxonomy = Taxonomy.from_paths(["a/other", "b/other"])
    assert taxonomy.n_nodes == 4
    assert taxonomy.ancestors("b/other") == ["b"]


def test_several_parents_make_a_graph():
    taxonomy = Taxonomy.from_parents({"a": None, "b": None, "c": ["a", "b"]})
    assert not taxonomy.is_tree
    assert taxonomy.ancestors("c") == ["a", "b"]
    with pytest.raises(DataError, match="one parent for every label"):
        _ = taxonomy.parent


def test_files(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("# topics\nparent: None child: Root child-description: All\nRoot C1\n")
    assert Taxonomy.from_file(path).names == ("Root", "C1")
    path.write_text("lonely\n")
    with pytest.raises(DataError, match="line 1"):
        Taxonomy.from_file(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "a")]), "'a' -> 'b' -> 'c'"),
        (lambda: Taxonomy.from_parents({"a": "nobody"}), "'nobody' above 'a'"),
        (lambda: Taxonomy(["a", "a"]), "'a' twice"),
        (lambda: Taxonomy([]), "at least one label"),
        (lambda: Taxonomy(["a"]).close([["b"]]), "labels of the taxonomy; got 'b'"),
        (lambda: Taxonomy(["a"]).close(["a"]), "a set of labels for every row"),
    ],
)
def test_errors_name_the_trouble(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_closing_adds_all_ancestors():
    taxonomy = Taxonomy.from_paths(["a/b/c", "d"])
    closed = taxonomy.close([["a/b/c"], []])
    assert closed.astype(int).tolist() == [[1, 0, 1, 1], [0, 0, 0, 0]]
    assert taxonomy.label_sets(closed)[0] == ["a", "a/b", "a/b/c"]
    assert taxonomy.violations(np.array([[0, 0, 0, 1]])).tolist() == [0]
