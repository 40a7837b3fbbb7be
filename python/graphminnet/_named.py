"""Data sets by name, through PyTorch Geometric and OGB, which are imported only here."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._errors import MachineError, UsageError


def dataset(name: str) -> Any:
    """A data set of OGB (``ogbg-molhiv``, ``ogbn-arxiv``) or of the TU collection (``tu:MUTAG``).

    It is kept below the folder that ``GRAPHMINNET_DATA`` names, or below ``data``, and fetched if it is not there.
    """
    root = os.environ.get("GRAPHMINNET_DATA") or "data"
    if name.startswith(("ogbg-", "ogbn-")):
        return _made(name, "ogb", lambda: _ogb(name, root))
    if name.startswith("tu:"):
        return _made(name, "torch_geometric", lambda: _tu(name.removeprefix("tu:"), root))
    raise UsageError(
        f"{name!r} is no file or folder, and no name of a data set: those are ogbg-… and ogbn-… (OGB) and tu:… (TU "
        "collection), such as tu:MUTAG; SMILES to train on are a list"
    )


def _made(name: str, package: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except ImportError as error:
        raise UsageError(f"{name} needs the package {package}: {error}; pip install 'graphminnet[pyg]'") from error
    except Exception as error:
        # Whatever fetching and reading in foreign packages ends with.
        raise MachineError(f"{name} cannot be fetched or read by {package}: {error}") from error


def _tu(name: str, root: str) -> Any:
    from torch_geometric.datasets import TUDataset

    # Attributes of nodes and edges are features, where a data set has them.
    return TUDataset(root, name, use_node_attr=True, use_edge_attr=True)


def _ogb(name: str, root: str) -> Any:
    with _loadable():
        if name.startswith("ogbn-"):
            from ogb.nodeproppred import PygNodePropPredDataset

            return PygNodePropPredDataset(name, root)
        from ogb.graphproppred import PygGraphPropPredDataset

        return PygGraphPropPredDataset(name, root)


def _loadable() -> AbstractContextManager[Any]:
    """OGB writes its data with PyG's classes and reads it again, which PyTorch 2.6 and later allow only by name."""
    from torch import serialization
    from torch_geometric.data import data, storage

    if not hasattr(serialization, "safe_globals"):
        return nullcontext()
    classes = [data.Data, data.DataEdgeAttr, data.DataTensorAttr]
    stores = [storage.GlobalStorage, storage.NodeStorage, storage.EdgeStorage]
    allowed: AbstractContextManager[Any] = serialization.safe_globals([*classes, *stores])
    return allowed
