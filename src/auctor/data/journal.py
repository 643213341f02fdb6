"""A record of the calls that made what workers keep, so that it can be made again elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy

from auctor.data.workers import ResidentCall

#: A kept result: who asked for it, and its number.
Name = tuple[int, int]


class Journal:
    """Calls by which shards that keep nothing yet come to keep what the lost ones kept.

    A call is forgotten when neither its result nor any result made from it is kept any more.
    """

    def __init__(self) -> None:
        self._calls: dict[Name, Sequence[ResidentCall]] = {}
        self._kept: set[Name] = set()

    def __len__(self) -> int:
        return len(self._calls)

    def note(self, calls: Sequence[ResidentCall]) -> None:
        """Take down a call that was answered, one for every shard."""
        first = calls[0]
        if first.number is not None:
            name = first.owner, first.number
            self._calls[name] = deepcopy(calls)  # solvers write into vectors that they have sent
            self._kept.add(name)
        if first.dropped:
            self._kept.difference_update((first.owner, one) for one in first.dropped)
            self._forget()

    def _forget(self) -> None:
        needed = set(self._kept)
        for name in reversed(list(self._calls)):  # a result is made before what is made from it
            if name in needed:
                needed.update(_sources(self._calls[name][0]))
            else:
                del self._calls[name]

    def calls(self) -> Iterator[list[ResidentCall]]:
        """What to ask of the shards, in this order; a result that only led to others is dropped."""
        uses = Counter(one for calls in self._calls.values() for one in _sources(calls[0]))
        for calls in self._calls.values():
            dropped = []
            for owner, number in _sources(calls[0]):
                uses[owner, number] -= 1
                if not uses[owner, number] and (owner, number) not in self._kept:
                    dropped.append(number)
            yield [one._replace(dropped=dropped) for one in calls]


def _sources(call: ResidentCall) -> set[Name]:
    """The kept results that a call takes."""
    return {(call.owner, number) for number in call.numbers}
