"""The drawing of a graph of variables."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.sparse import csr_array

from auctor.core.errors import DataError
from auctor.reports import draw_graph
from auctor.reports.graph import layout

CHAIN = np.diag([0.5, -0.2, 0.9], 1) + np.diag([0.5, -0.2, 0.9], -1)


def test_every_edge_is_a_line_as_wide_as_its_correlation():
    root = ElementTree.fromstring(draw_graph(csr_array(CHAIN), ["a", "b", "c<", "d"]))
    lines = [child for child in root if child.tag.endswith("line")]
    titles = [line[0].text for line in lines]
    assert titles == ["b and c<: -0.20", "a and b: 0.50", "c< and d: 0.90"]
    widths = [float(line.get("stroke-width")) for line in lines]
    np.testing.assert_allclose(widths, [1.2, 3.0, 5.4])
    assert lines[0].get("stroke") != lines[1].get("stroke") == lines[2].get("stroke")


def test_variables_without_edges_are_left_out_unless_asked_for():
    graph = np.zeros((4, 4))
    graph[0, 2] = graph[2, 0] = 0.3
    assert draw_graph(graph).count("<circle") == 2
    assert draw_graph(graph, isolated=True).count("<circle") == 4
    assert draw_graph(np.zeros((3, 3))).count("<circle") == 0


def test_the_drawing_stays_inside_and_does_not_change():
    rng = np.random.default_rng(0)
    graph = np.triu(np.where(rng.random((80, 80)) < 0.05, 0.4, 0.0), 1)
    svg = draw_graph(graph + graph.T)
    assert svg == draw_graph(graph + graph.T)
    at = [float(x) for x in re.findall(r'c[xy]="([\d.]+)"', svg)]
    assert min(at) >= 30.0
    assert max(at) <= 450.0
    assert "<text" not in svg  # too many for names


def test_connected_nodes_are_nearer_than_others():
    at = layout(np.arange(19), np.arange(1, 20), 20)
    distance = np.linalg.norm(at[:, None] - at[None], axis=2)
    near = distance[np.arange(19), np.arange(1, 20)].mean()
    assert near < 0.5 * distance[np.triu_indices(20, 2)].mean()


@pytest.mark.parametrize(
    ("graph", "names"), [(np.ones((2, 3)), None), (CHAIN, ["a"]), (np.ones((2001, 2001)), None)]
)
def test_what_cannot_be_drawn(graph, names):
    with pytest.raises(DataError):
        draw_graph(graph, names)


def test_it_needs_no_drawing_library():
    code = "import sys, auctor.reports.graph; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
