"""Text that becomes the nearest double."""

import numpy as np
import pytest

from auctor.kernels.text import numbers as kernels


def read(token):
    data = np.frombuffer(token.encode(), np.uint8)
    return kernels.read_number(data, 0, data.size, np.zeros(1, np.uint64))


def test_numbers_are_the_nearest_doubles():
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 63, 20_000, dtype=np.uint64).view(np.float64)
    ordinary = rng.normal(size=20_000) * 10.0 ** rng.integers(-30, 30, 20_000)
    tokens = [repr(x) for x in bits[np.isfinite(bits)].tolist() + ordinary.tolist()]
    tokens += [
        f"{m}e{q}"
        for m, q in zip(
            rng.integers(0, 10**19, 20_000, dtype=np.uint64).tolist(),
            rng.integers(-330, 300, 20_000).tolist(),
            strict=True,
        )
    ]
    tokens += ["0", "-0", "+1", "1.", ".5", "1e5", "1E-5", "00012", "0.1", "9007199254740993",
               "9007199254740992.5", "1e22", "1e23", "4.5e15", "5e-324", "2.2250738585072011e-308",
               "1.7976931348623157e308", "0.000012345678901234567", "18446744073709551615",
               "9999999999999999999", "4503599627370497.5", "4503599627370496.5"]  # fmt: skip
    read_here = 0
    for token in tokens:
        value, after, known = read(token)
        assert after == len(token)
        if known:
            assert value == float(token), token
            read_here += 1
    assert read_here > 0.9 * len(tokens)


def test_halves_go_to_the_even_neighbour():
    for mantissa in (2**53 + 1, 2**53 + 3, 2**54 + 2, 2**54 + 6, 2**60 + 2**7):
        for token in (str(mantissa), f"{mantissa * 5}e-1", f"{mantissa}.0"):
            value, _, known = read(token)
            assert not known or value == float(token)


@pytest.mark.parametrize("token", ["", "-", ".", "e5", "1e", "1e+", "nan", "inf", "1" * 30])
def test_what_is_left_to_the_caller(token):
    assert not read(token)[2]
