"""Columns in lists by the threshold at which they become zero: buckets of equal width.

``links[j]`` holds the bucket of column j, plus one (0: none), and the column after it there, plus
one (0: none). ``heads[b]`` is the first of bucket b, plus one.
"""

from __future__ import annotations

from auctor.core.types import IntArray
from auctor.kernels.runtime.compiled import inline_kernel, kernel

#: Places in a line of the links.
BUCKET, NEXT = 0, 1
#: Buckets there are room for.
MOST = 8192


@inline_kernel
def enter(heads: IntArray, links: IntArray, j: int, bucket: int) -> None:
    """Put a column that is in no bucket into one."""
    links[j, BUCKET], links[j, NEXT] = bucket + 1, heads[bucket]
    heads[bucket] = j + 1


@kernel
def leave(heads: IntArray, links: IntArray, j: int) -> None:
    """Take a column out of its bucket."""
    bucket, after = links[j, BUCKET] - 1, links[j, NEXT]
    links[j, BUCKET] = 0
    at = heads[bucket]
    if at == j + 1:
        heads[bucket] = after
        return
    while at > 0:
        if links[at - 1, NEXT] == j + 1:
            links[at - 1, NEXT] = after
            return
        at = links[at - 1, NEXT]
