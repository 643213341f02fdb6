from auctor.forecast import metrics as metrics
from auctor.forecast.backtest import Backtest as Backtest
from auctor.forecast.embedding import Embedding as Embedding
from auctor.forecast.estimators.baselines import baselines as baselines
from auctor.forecast.estimators.kernel_kmeans import KernelKMeans as KernelKMeans
from auctor.forecast.estimators.load_forecaster import LoadForecaster as LoadForecaster
from auctor.forecast.estimators.shifted_tube import ShiftedTubeRegressor as ShiftedTubeRegressor

__all__: list[str]
