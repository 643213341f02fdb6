"""A generated series of load and temperature, with weekdays, holidays and a non-linear effect."""

import numpy as np

HOLIDAYS = ("2022-12-25", "2023-01-01", "2023-05-01")


def make(n_days=200, per_day=24, start="2022-11-01", seed=0, noise=0.01):
    rng = np.random.default_rng(seed)
    day = np.arange(n_days)
    first = np.datetime64(start).astype("datetime64[D]")
    minutes = np.arange(n_days * per_day) * (1440 // per_day)
    stamps = (first.astype("datetime64[m]") + minutes).astype("datetime64[ms]")
    hour = np.arange(per_day) * 24.0 / per_day
    weather = 12 + 8 * np.sin(day / 365 * 2 * np.pi)
    weather = weather + np.convolve(rng.normal(size=n_days + 4), np.ones(5) / 2, "valid")
    temperature = weather[:, None] + 4 * np.sin((hour - 9) / 24 * 2 * np.pi)
    weekday = (first.astype(int) + 3 + day) % 7
    free = (weekday >= 5) | np.isin(first + day, np.array(HOLIDAYS, "datetime64[D]"))
    shape = 1 + 0.25 * np.sin((hour - 8) / 24 * 2 * np.pi)
    load = 1000 * shape * (1 - 0.15 * free[:, None]) + 2.0 * (temperature - 16) ** 2
    load = load * np.exp(noise * rng.normal(size=load.shape))
    return stamps, load.ravel(), temperature.ravel()
