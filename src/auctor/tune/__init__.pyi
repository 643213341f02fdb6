from auctor.tune.black_box import dfo_tr as dfo_tr
from auctor.tune.black_box import minimise_black_box as minimise_black_box
from auctor.tune.direct import maximise_metric as maximise_metric
from auctor.tune.engine import DfoTr as DfoTr
from auctor.tune.estimators.search import SearchCV as SearchCV
from auctor.tune.optuna_sampler import OptunaDfoTr as OptunaDfoTr
from auctor.tune.space import Categorical as Categorical
from auctor.tune.space import Conditional as Conditional
from auctor.tune.space import Float as Float
from auctor.tune.space import Integer as Integer
from auctor.tune.space import Space as Space

__all__: list[str]
