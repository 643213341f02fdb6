"""Lists of columns by the cumulative threshold at which they become zero: buckets of equal width.

``links[j]`` holds the bucket of column j plus one, and the next column in that bucket plus one; 0
means none. ``heads[b]`` is the first column of bucket b plus one.
"""

from __future__ import annotations

from auctor.core.types import IntArray
from auctor.kernels.runtime.compiled import inline_kernel, kernel

#: Position in a line of ``links``: the bucket of the column plus one.
BUCKET = 0
#: Position in a line of ``links``: the next column of the bucket plus one.
NEXT = 1
#: Number of buckets.
BUCKETS = 8192


@inline_kernel
def enter(heads: IntArray, links: IntArray, j: int, bucket: int) -> None:
    """Add a column that is in no bucket to the given one."""
    links[j, BUCKET], links[j, NEXT] = bucket + 1, heads[bucket]
    heads[bucket] = j + 1


@kernel
def leave(heads: IntArray, links: IntArray, j: int) -> None:
    """Remove a column from its bucket."""
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
