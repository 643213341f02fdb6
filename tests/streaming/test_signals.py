"""A signal does not end the update of a learner half-way."""

import os
import signal

import numpy as np
import pytest

from auctor.streaming import StreamingAUC, learn
from auctor.tables import Chunk


def _end(number, frame):
    raise KeyboardInterrupt


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_sigterm_of_a_command_waits_for_the_update():
    model = StreamingAUC()
    update, calls = model.learn_rows, []

    def signalled(*given, **named):
        calls.append(1)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return update(*given, **named)

    model.learn_rows = signalled
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(40, 3)) for _ in range(4)]
    chunks = [Chunk(X, X[:, 0] > 0.0, 40 * k) for k, X in enumerate(rows)]
    before = signal.signal(signal.SIGTERM, _end)
    try:
        with pytest.raises(KeyboardInterrupt):
            learn(model, chunks, classes=[False, True])
        assert signal.getsignal(signal.SIGTERM) is _end
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(calls) == 2
    assert model.state_["counted"][0] == 80
