"""A record of the calls whose results workers store, so that new workers can repeat them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy

from auctor.data.workers import ResidentCall

#: Name of a stored result: the number of its owner and its own number.
Name = tuple[int, int]


class Journal:
    """The calls that rebuild the stored results of lost shards on new ones.

    A call is dropped when neither its result nor a result computed from it is stored any more.
    Scores that a line search computes from those of the last step depend on the calls of all steps
    before: the journal of such a fit grows by a vector of weights per step.
    """

    def __init__(self) -> None:
        self._calls: dict[Name, Sequence[ResidentCall]] = {}
        self._kept: set[Name] = set()

    def __len__(self) -> int:
        return len(self._calls)

    def note(self, calls: Sequence[ResidentCall]) -> None:
        """Record a completed call, one entry per shard, and the results that it dropped."""
        first = calls[0]
        if first.number is not None:
            name = first.owner, first.number
            # A copy, because solvers may change vectors in place after sending them.
            self._calls[name] = deepcopy(calls)
            self._kept.add(name)
        if first.dropped:
            self._kept.difference_update((first.owner, one) for one in first.dropped)
            self._forget()

    def _forget(self) -> None:
        """Drop the calls that no stored result depends on."""
        needed = set(self._kept)
        # Backwards, because a call comes after the calls whose results it uses.
        for name in reversed(list(self._calls)):
            if name in needed:
                needed.update(_sources(self._calls[name][0]))
            else:
                del self._calls[name]

    def calls(self) -> Iterator[list[ResidentCall]]:
        """The calls to repeat, in order; intermediate results are dropped after their last use."""
        uses = Counter(one for calls in self._calls.values() for one in _sources(calls[0]))
        for calls in self._calls.values():
            dropped = []
            for owner, number in _sources(calls[0]):
                uses[owner, number] -= 1
                if not uses[owner, number] and (owner, number) not in self._kept:
                    dropped.append(number)
            yield [one._replace(dropped=dropped) for one in calls]


def _sources(call: ResidentCall) -> set[Name]:
    """Names of the stored results that a call uses."""
    return {(call.owner, number) for number in call.numbers}
