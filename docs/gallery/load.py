"""A year of load: forecasts at every midnight, with bands.

Load depends on the weekday, on holidays and, not linearly, on temperature. One kernel machine for
all hours, whose groups of features have widths of their own, forecasts a year from the two before.
"""

import matplotlib.pyplot as plt
import numpy as np

from auctor.forecast import LoadForecaster, baselines

# %%
# ## Data
#
# Three years of hourly load, generated because real data may not be distributed: profiles of
# working days and weekends, holidays, heating and cooling, and weather that persists.

rng = np.random.default_rng(0)
n_days = 3 * 365
dates = np.datetime64("2021-01-01") + np.arange(n_days)
stamps = (dates[:, None] + np.arange(24) * np.timedelta64(1, "h")).ravel()
hour, day = np.arange(24), np.arange(n_days)[:, None]
weather = np.convolve(rng.normal(size=n_days + 6), np.ones(7), "valid")
temperature = 11 - 10 * np.cos(2 * np.pi * day / 365) + weather[:, None]
temperature = temperature + 4 * np.sin(2 * np.pi * (hour - 9) / 24)
holidays = [f"{year}-{day}" for year in (2021, 2022, 2023) for day in ("01-01", "05-01", "12-25")]
free = ((np.arange(n_days) + 4) % 7 >= 5) | np.isin(dates, np.array(holidays, "datetime64[D]"))
profile = 1 + 0.2 * np.sin(2 * np.pi * (hour - 8) / 24) + 0.08 * np.sin(4 * np.pi * (hour - 7) / 24)
heating, cooling = np.maximum(14 - temperature, 0), np.maximum(temperature - 20, 0)
load = 1000 * profile * (1 - 0.14 * free[:, None]) + 12 * heating + 30 * cooling
drift = np.cumsum(0.003 * rng.normal(size=n_days))[:, None]
load = (load * np.exp(drift + 0.01 * rng.normal(size=load.shape))).ravel()

# %%
# ## A year of midnights
#
# The model is trained once, on two years. Every midnight it forecasts the day from the loads up to
# then and the day's temperatures, and its band takes in the errors of the days that have come.

series, weather = (stamps, load), (stamps, {"temperature": temperature.ravel()})
model = LoadForecaster(holidays=holidays)
test = model.backtest(series, weather, origins=365)
found = test.metrics()
print({name: round(value, 3) for name, value in found.items()})
print(f"CPU seconds of the fit: {test.cpu_seconds:.1f}")
names = ("persistence", "same day last week", "ridge")
for name, other in baselines(series, weather, origins=365, names=names).items():
    print(f"{name:20s} MAPE {other.metrics()['mape']:.2f} %")

# %%
# ## Two weeks
#
# The band holds four loads of five.

figure, axes = plt.subplots(2, 1, figsize=(8, 6), layout="constrained")
week = slice(180, 194)
at = np.arange(14 * 24) / 24
axes[0].fill_between(at, test.lower[week].ravel(), test.upper[week].ravel(), alpha=0.3)
axes[0].plot(at, test.load[week].ravel(), label="forecast")
axes[0].plot(at, test.actual[week].ravel(), "k", lw=0.8, label="load")
axes[0].set(xlabel="Days", ylabel="Load")
axes[0].legend()

# %%
# ## Errors over the year

error = 100 * np.abs(test.load / test.actual - 1)
axes[1].plot(test.dates, error.mean(axis=1), lw=0.8)
axes[1].set(xlabel="Day", ylabel="Mean error, %")
