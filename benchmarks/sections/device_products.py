"""Products of dense, sparse and binned matrices on a GPU."""

from __future__ import annotations

import numpy as np

from benchmarks.run import Settings, bar, table
from benchmarks.sections.device_clock import bandwidth, device_name, milliseconds

name = "device_products"
TITLE = "products on a GPU, as shares of the copy bandwidth or entries per second"
#: Lowest shares of the copy bandwidth for X w and X'u.
SHARES = {"float32": (0.70, 0.80), "float64": (0.70, 0.80), "bfloat16": (0.50, 0.50)}
#: Lowest rates of look-ups and histograms, in G entries per second, by the number of bins.
RATES = {32: (3000.0, 850.0), 64: (2700.0, 650.0), 256: (1700.0, 170.0)}


def _error(found: object, wanted: object) -> float:
    return float((found - wanted).norm() / wanted.norm())


def _dense(copy: float, n: int, d: int, bars: list, rows: list) -> None:
    import torch

    from auctor.gpu.stores import DenseStore

    for kind, shares in SHARES.items():
        X = torch.randn(n, d, device="cuda").to(getattr(torch, kind))
        store = DenseStore(X)
        w = torch.randn(d, dtype=torch.float64, device="cuda")
        u = torch.randn(n, dtype=torch.float64, device="cuda")
        step = n // 10
        wanted = torch.cat([X[k : k + step].double() @ w for k in range(0, n, step)])
        pulled = sum(X[k : k + step].double().T @ u[k : k + step] for k in range(0, n, step))
        products = (
            ("X w", lambda s=store, w=w: s.scores(w, 0.0), wanted, shares[0]),
            ("X'u", lambda s=store, u=u: s.gradient(u), pulled, shares[1]),
        )
        for label, call, exact, least in products:
            error, took = _error(call(), exact), milliseconds(call)
            share = (X.nbytes + 8 * n) / (took * 1e-3) / copy
            rows.append([f"dense {kind}", label, took, share, n * d / took * 1e-6, error])
            bars.append(bar(f"dense {kind} {label}: share of the copy bandwidth", share, least))
            limit = bar(f"dense {kind} {label}: error", error, 1e-6, at_least=False)
            bars.append(limit)
        del X, store, wanted


def _binned(copy: float, n: int, d: int, bars: list, rows: list) -> None:
    import torch

    from auctor.data.binned import BinnedMatrix, pack
    from auctor.data.codebook import Codebook
    from auctor.gpu.stores import BinnedStore

    for bins, (least_look, least_sum) in RATES.items():
        few = np.random.default_rng(0).integers(0, bins, (d, 1024), dtype=np.uint8)
        books = [Codebook(bins, steps=tuple(range(1, bins)))] * d
        matrix = BinnedMatrix(pack(few), books)
        for single in (True, False):
            store = BinnedStore(matrix, torch.device("cuda"), single=single)
            # The codes of many rows are drawn on the device.
            store.n_rows = n
            store.codes = torch.randint(0, bins, (d, n), dtype=torch.uint8, device="cuda")
            tables = torch.randn(d, bins, device="cuda", dtype=store.dtype)
            u = torch.randn(n, dtype=torch.float64, device="cuda")
            part = slice(0, n // 20)
            line = store.codes[:, part].long()
            wanted = tables.double().gather(1, line).sum(0)
            error = _error(store.look_up(tables, 0.0)[part], wanted)
            kind = "float32" if single else "float64"
            took = milliseconds(lambda s=store, t=tables: s.look_up(t, 0.0))
            share, rate = (n * d + 8 * n) / (took * 1e-3) / copy, n * d / took * 1e-6
            rows.append([f"binned {bins}, {kind}", "look-ups", took, share, rate, error])
            exact = torch.stack([torch.bincount(store.codes[j].long(), u, bins) for j in range(3)])
            off = _error(store.histograms(u)[:3], exact)
            spent = milliseconds(lambda s=store, u=u: s.histograms(u))
            each = n * d / spent * 1e-6
            share = (n * d + 8 * n) / (spent * 1e-3) / copy
            rows.append([f"binned {bins}, {kind}", "histograms", spent, share, each, off])
            if single:
                bars.append(bar(f"binned {bins}: look-ups, G entries/s", rate, least_look))
                bars.append(bar(f"binned {bins}: histograms, G entries/s", each, least_sum))
                worst = max(error, off)
                bars.append(bar(f"binned {bins}: error", worst, 1e-6, at_least=False))
            del store, line, wanted


def _sparse(n: int, length: int, d: int, bars: list, rows: list) -> None:
    import torch

    from auctor.gpu.stores import CsrStore

    indices = torch.randint(0, d, (n * length,), dtype=torch.int32, device="cuda")
    values = torch.randn(n * length, device="cuda")
    indptr = torch.arange(0, n * length + 1, length, device="cuda")
    w = torch.randn(d, dtype=torch.float64, device="cuda")
    u = torch.randn(n, dtype=torch.float64, device="cuda")
    both = CsrStore(indptr, indices, values, d, True)
    alone = CsrStore(indptr, indices, values, d, False)
    wanted = (values.double() * w[indices.long()]).reshape(n, length).sum(1)
    terms = values.double() * u.repeat_interleave(length)
    pulled = torch.zeros(d, dtype=torch.float64, device="cuda").index_add_(0, indices.long(), terms)
    for label, call, exact, least in (
        ("A w", lambda: both.scores(w, 0.0), wanted, 125.0),
        ("A'u, transpose", lambda: both.gradient(u), pulled, 125.0),
        ("A'u, without", lambda: alone.gradient(u), pulled, 80.0),
    ):
        error, took = _error(call(), exact), milliseconds(call)
        rate = n * length / took * 1e-6
        rows.append([f"CSR {n:.0e} x {length}", label, took, None, rate, error])
        bars.append(bar(f"CSR {label}: G entries/s", rate, least))


def run(settings: Settings) -> dict[str, object]:
    """Products of all storages."""
    scale = 10 if settings.quick else 1
    copy, bars, rows = bandwidth(), [], []
    n, d = 10_000_000 // scale, 100
    _dense(copy, n, d, bars, rows)
    _binned(copy, n, d, bars, rows)
    _sparse(2_000_000 // scale, 50, 100_000, bars, rows)
    columns = ["matrix", "product", "ms", "share of copy", "G entries/s", "relative error"]
    where = f"{device_name()}; a copy moves {copy * 1e-9:.0f} GB/s, read and written."
    return {
        "title": TITLE,
        "bars": bars,
        "tables": [table(f"{n:.0e} rows x {d} columns", columns, rows)],
        "notes": [where, "Medians of 15; sums in float64, of bins in the kind that is named."],
        "cells": {"copy": copy},
    }
