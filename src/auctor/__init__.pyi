from auctor import additive as additive
from auctor import boost as boost
from auctor import contenders as contenders
from auctor import covariance as covariance
from auctor import dask as dask
from auctor import data as data
from auctor import evaluate as evaluate
from auctor import export as export
from auctor import fit as fit
from auctor import forecast as forecast
from auctor import gpu as gpu
from auctor import hierarchy as hierarchy
from auctor import jax as jax
from auctor import kernel as kernel
from auctor import lab as lab
from auctor import linear as linear
from auctor import losses as losses
from auctor import metrics as metrics
from auctor import minimise as minimise
from auctor import penalties as penalties
from auctor import problem as problem
from auctor import reports as reports
from auctor import saved as saved
from auctor import scans as scans
from auctor import solvers as solvers
from auctor import spark as spark
from auctor import streaming as streaming
from auctor import tables as tables
from auctor import testing as testing
from auctor import torch as torch
from auctor import tune as tune
from auctor.additive import *  # noqa: F403
from auctor.core.errors import AuctorError as AuctorError
from auctor.core.errors import ConvergenceWarning as ConvergenceWarning
from auctor.core.errors import DataWarning as DataWarning
from auctor.core.version import __version__ as __version__
from auctor.export import to_onnx as to_onnx
from auctor.export import to_sql as to_sql
from auctor.kernel import KernelClassifier as KernelClassifier
from auctor.kernel import KernelRegressor as KernelRegressor
from auctor.linear import *  # noqa: F403
from auctor.saved import load as load
from auctor.saved import save as save
from auctor.streaming import StreamingAUC as StreamingAUC

__all__: list[str]
