"""GraphMinNet: learning on graphs with long-range dependencies at linear cost.

>>> import graphminnet as gmn
>>> smiles = ["C" * n + "O" for n in range(1, 41)]
>>> model = gmn.train(smiles, target=[float(n) for n in range(1, 41)], epochs=2, hidden=16, layers=1,
...                   settings={"model.pe_dim": 4}, run_dir=directory / "chains")
>>> model.predict(["CCO", "not a molecule"]).shape
(2,)
>>> model.reasons[1]
'row 1: `not a molecule`: not a SMILES string: ...'
>>> path = model.save(directory / "chains.gmn")
>>> bool((gmn.load(path).predict(smiles) == model.predict(smiles)).all())
True
"""

from __future__ import annotations

from ._errors import DataError, Error, Interrupted, MachineError, MissingError, UsageError
from ._explanation import Explanation
from ._model import Model, load
from ._runs import Report, Run
from ._train import Epoch, resume, train
from ._validate import CrossValidation, cross_validate

__version__ = "0.1.0"

__all__ = [
    "CrossValidation",
    "DataError",
    "Epoch",
    "Error",
    "Explanation",
    "Interrupted",
    "MachineError",
    "MissingError",
    "Model",
    "Report",
    "Run",
    "UsageError",
    "cross_validate",
    "load",
    "resume",
    "train",
]

# What is exported belongs to this module, whichever file it is written in.
for _name in __all__:
    globals()[_name].__module__ = __name__
del _name
