"""Losses of the metrics written on sorts, running sums, look-ups and scatters, for any engine.

The compiled kernels of `auctor.losses` run on one processor core. The functions here compute the
same values and slopes with the operations that every array engine has: NumPy, PyTorch, JAX. They
have no data-dependent shapes and never ask a device for a number, so they can be recorded in a CUDA
graph or compiled by JAX. Every operation is differentiable, so that engines which differentiate
slopes once more get the second derivatives.

A function takes the operations of the engine (`ops.NumpyOps` or a twin of it), scores, and the
weights of the rows by class (`rows.pair_rows`, `rows.set_rows`). It returns the value and the
slopes: derivatives of the value in the scores. Without a pair both are zero.
"""
