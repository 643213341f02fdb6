from auctor.contenders import nested as nested
from auctor.contenders.ours import our_contenders as our_contenders

__all__ = ["our_contenders"]
