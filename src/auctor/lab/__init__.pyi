from auctor.lab import completion as completion
from auctor.lab import learners as learners
from auctor.lab import least_squares as least_squares
from auctor.lab import lmatrix as lmatrix
from auctor.lab import losses as losses
from auctor.lab import maps as maps
from auctor.lab import moments as moments
from auctor.lab import penalties as penalties
from auctor.lab import qp as qp
from auctor.lab import regret as regret
from auctor.lab import solvers as solvers
from auctor.lab import trees as trees

__all__: list[str]
