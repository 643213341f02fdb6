"""Rules for comments and constants: what a reader must find beside a formula or a number.

Each is a function from the text of a file to what it found, tried first on code that breaks it.
"""

import ast
import io
import re
import tokenize
from functools import cache

from tests.house import FILES, SOURCE, functions, parsed, shown, text_of

#: Lines from which a compiled function needs a comment that says what it computes.
LONG_KERNEL = 40
#: Number of arguments from which the docstring of a compiled function explains each of them.
MANY_ARGUMENTS = 17
#: Largest whole number that needs no name inside a function.
MAX_PLAIN = 10
#: Rooms whose numbers inside functions have names. The others are on their way.
NAMED_ROOMS = (
    "covariance/", "kernels/descent/", "kernels/online/", "kernels/penalties/",
    "online/", "problem/", "solvers/", "training/", "tune/",
)  # fmt: skip


@cache
def comment_tokens(text):
    """All comments, with their places."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token for token in tokens if token.type == tokenize.COMMENT]


@cache
def comment_lines(text):
    """Numbers of the lines that hold a comment."""
    return {token.start[0] for token in comment_tokens(text)}


def body_lines(function):
    """Lines of a function without its docstring."""
    first = function.body[0]
    quoted = ast.get_docstring(function) is not None
    return function.end_lineno - function.lineno - quoted * (first.end_lineno - first.lineno + 1)


#: What makes a comment an equation: a sign of equality, order or assignment.
EQUATION = re.compile(r" ([-+*/]?=|<-|<=|>=|<|>) ")


def unexplained_loops(text):
    """Long functions without a comment that is an equation: what their lines compute."""
    comments = [(token.start[0], token.string) for token in comment_tokens(text)]
    for function in functions(parsed(text)):
        named = any(
            function.lineno <= line <= function.end_lineno and EQUATION.search(words)
            for line, words in comments
        )
        if body_lines(function) >= LONG_KERNEL and not named:
            yield function


def test_long_kernels_name_their_equations():
    lines = "".join(f"    x = {k}\n" for k in range(LONG_KERNEL))
    assert len(list(unexplained_loops(f"def f():\n{lines}"))) == 1
    assert len(list(unexplained_loops(f"def f():\n    # fmt: skip\n{lines}"))) == 1
    assert list(unexplained_loops(f"def f():\n    # x <- k\n{lines}")) == []
    found = [
        f"{path.relative_to(SOURCE)}:{function.lineno}: {function.name}"
        for path in sorted((SOURCE / "kernels").rglob("*.py"))
        for function in unexplained_loops(text_of(path))
    ]
    assert found == []


def unexplained_arguments(text):
    """Functions of many arguments whose docstring does not list all of them as parameters."""
    for function in functions(parsed(text)):
        names = {argument.arg for argument in function.args.args}
        lines = (ast.get_docstring(function) or "").splitlines()
        heads = [line.partition(" : ")[0] for line in lines if re.match(r"\w.* : ", line)]
        listed = {name for head in heads for name in head.split(", ")}
        if len(names) >= MANY_ARGUMENTS and not names <= listed:
            yield function


def test_kernels_of_many_arguments_explain_each():
    names = [f"x{k}" for k in range(MANY_ARGUMENTS)]
    head = f"def f({', '.join(names)}):\n    "
    assert len(list(unexplained_arguments(f'{head}"""Do it with x0."""'))) == 1
    quoted = f'"""Do it.\n\n    {", ".join(names)} : floats\n    """'
    assert list(unexplained_arguments(head + quoted)) == []
    found = [
        f"{path.relative_to(SOURCE)}:{function.lineno}: {function.name}"
        for path in sorted((SOURCE / "kernels").rglob("*.py"))
        for function in unexplained_arguments(text_of(path))
    ]
    assert found == []


def numbers(node):
    """How many numbers an expression is made of; none where it holds anything else."""
    if isinstance(node, ast.Constant):
        return int(isinstance(node.value, int | float) and not isinstance(node.value, bool))
    if isinstance(node, ast.UnaryOp):
        return numbers(node.operand)
    if isinstance(node, ast.BinOp | ast.Tuple):
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else node.elts
        counts = [numbers(part) for part in parts]
        return sum(counts) if all(counts) else 0
    return 0


def is_code(node):
    """Made of whole numbers alone: a code, a byte, a place or a power of two."""
    values = [v for v in ast.walk(node) if isinstance(v, ast.Constant)]
    return all(isinstance(v.value, int) for v in values)


def constants(body):
    """Assignments of numbers, in a module and in its enumerations."""
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and numbers(node.value):
            yield node
        elif isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(b) for b in node.bases):
            yield from constants(node.body)


def unexplained_constants(text):
    """Numeric constants without a comment of their own, and those that share an assignment."""
    comments = comment_lines(text)
    for node in constants(parsed(text).body):
        together = isinstance(node, ast.Assign) and (
            len(node.targets) > 1 or isinstance(node.targets[0], ast.Tuple)
        )
        if together or comments.isdisjoint({node.lineno - 1, node.lineno, node.end_lineno}):
            yield node


def test_numeric_constants_say_what_they_do():
    assert len(list(unexplained_constants("A = 3\n\nB: float = -1e-3\nC = (1, 2.5)\n"))) == 3
    fine = "#: Bytes.\nA = 3\n#: Share.\nC = 0.5\nD = 2.0  # rows\nE = f(1)\n"
    assert list(unexplained_constants(fine)) == []
    assert len(list(unexplained_constants("#: Two shares.\nA = 0.5\nB = 0.25\n"))) == 1
    assert len(list(unexplained_constants("#: Two codes.\nA = 1\nB = 2\n"))) == 1
    assert len(list(unexplained_constants("#: Two codes.\nA, B = 1, 2\n"))) == 1
    assert len(list(unexplained_constants("#: Two codes.\nA = B = 1\n"))) == 1
    enum = "class Slot(IntEnum):\n    #: Rows.\n    ROWS = 0\n    STEPS = 1\n"
    assert len(list(unexplained_constants(enum))) == 1
    found = {path: unexplained_constants(text_of(path)) for path in FILES}
    assert [place for path, nodes in found.items() for place in shown(path, nodes)] == []


def comment_of(node, lines):
    """The comment above a statement and the one beside it, as one line of text."""
    first = node.lineno - 1
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    above = [line.lstrip("#: ") for line in lines[first : node.lineno - 1]]
    return " ".join([*above, lines[node.lineno - 1].partition("#")[2]])


#: What says where a value comes from: a file, a paper, a hand, or the precision of floats.
SOURCED = re.compile(r"Source:|[Ss]et by hand|ounding|machine epsilon|single precision|[Dd]ouble")


def unsourced_constants(text):
    """Fractions and factors whose comment does not say where the value comes from."""
    lines = text.splitlines()
    for node in constants(parsed(text).body):
        words = comment_of(node, lines)
        if not is_code(node.value) and not SOURCED.search(words):
            yield node


def test_constants_say_where_they_come_from():
    bad = "#: A share.\nA = 0.5\n\nB = 1e-3  # seconds\nC = (0.5, 2.0)\n"
    assert len(list(unsourced_constants(bad))) == 3
    fine = "#: Source:\n#: x.md.\nA = 0.5\nB = 2.0  # Set by hand.\nC = 3\n#: Rounding.\nD = 1e-14"
    assert list(unsourced_constants(fine)) == []
    found = {path: unsourced_constants(text_of(path)) for path in FILES}
    assert [place for path, nodes in found.items() for place in shown(path, nodes)] == []


def is_plain(value):
    """A small whole number or a half: counts, exponents and factors of formulas."""
    return value == 0.5 or (float(value).is_integer() and abs(value) <= MAX_PLAIN)


def bits(function):
    """Numbers of bits: what a power of two is raised to, and by how much a word is shifted."""
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp):
            two = isinstance(node.left, ast.Constant) and node.left.value == 2
            if isinstance(node.op, ast.LShift | ast.RShift) or (
                isinstance(node.op, ast.Pow) and two
            ):
                yield from (id(part) for part in ast.walk(node.right))


def unnamed_numbers(text):
    """Numbers inside functions that are neither plain nor explained by a comment on their line."""
    comments = comment_lines(text)
    for function in functions(parsed(text)):
        if function.name == "examples":  # parameters of solvers that the kit tests
            continue
        shifts = set(bits(function))
        for node in (part for line in function.body for part in ast.walk(line)):
            number = isinstance(node, ast.Constant) and numbers(node) and id(node) not in shifts
            if number and not is_plain(node.value) and node.lineno not in comments:
                yield node


def test_numbers_inside_functions_have_names():
    bad = "def f(x, y=0.1):\n    return 0.01 * x if x > 20 else min(x, -1e-14)\n"
    assert len(list(unnamed_numbers(bad))) == 3
    fine = "def f(x):\n    # x + a/6\n    return 0.5 * x + 2.0 + x / 12.0  # Simpson's rule\n"
    assert list(unnamed_numbers(fine)) == []
    assert list(unnamed_numbers("def f(x):\n    return x >> uint64(31), 1 << 20, 2**31\n")) == []
    assert len(list(unnamed_numbers("def f(x):\n    return (12 << x) + 3.0**20\n"))) == 2
    found = {
        path: unnamed_numbers(text_of(path))
        for path in FILES
        if str(path.relative_to(SOURCE)).startswith(NAMED_ROOMS)
    }
    assert [place for path, nodes in found.items() for place in shown(path, nodes)] == []
