from auctor.core.watching import Watcher as Watcher
from auctor.core.watching import watch as watch
from auctor.fit import checkpoint as checkpoint

__all__: list[str]
