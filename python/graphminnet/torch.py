"""The model in plain PyTorch: the same parameters under the same names, to differentiate, fine-tune and export.

>>> import torch
>>> from graphminnet.torch import GraphMinNetConv
>>> layer = GraphMinNetConv(8, lap_dim=2)
>>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
>>> eigenvalues, eigenvectors = layer.eigenpairs(edge_index, num_nodes=3)
>>> layer(torch.ones(3, 8), edge_index, torch.zeros(3, dtype=torch.long), eigenvalues, eigenvectors).shape
torch.Size([3, 8])

:func:`from_bundle` and :func:`to_bundle` move weights both ways; :func:`collate` makes a batch of whatever the package
reads. Numbers agree with those of the package to 32-bit rounding.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from . import _inputs
from ._call import call
from ._errors import UsageError
from ._model import Model, load
from ._torch_layers import Block, Head, LapPE, Layer, RWSE, Scale, SetEncoder
from ._torch_layers import averaged, degrees, encoded, encoder_of, spectrum_of, summed

__all__ = ["Batch", "GraphMinNet", "GraphMinNetConv", "collate", "from_bundle", "to_bundle"]

#: The range of the logarithms of variances that models with the loss ``mean_variance`` learn.
LOG_VARIANCES = (-14.0, 6.0)


@dataclass
class Batch:
    """Graphs side by side: ``G`` graphs, ``n`` nodes, ``e`` edges, ``K`` stored eigenpairs."""

    #: Categories of nodes ``[n, columns]``, and their numbers ``[n, columns]``.
    node_categories: Tensor
    node_numbers: Tensor
    #: Sources and targets ``[2, e]``, numbered over the batch.
    edge_index: Tensor
    edge_categories: Tensor
    edge_numbers: Tensor
    #: The graph of each node ``[n]``.
    batch: Tensor
    num_graphs: int
    #: Eigenvalues ``[G, K]`` and eigenvectors ``[n, K]`` of the Laplacian, 0 where there are fewer.
    eigenvalues: Tensor
    eigenvectors: Tensor
    #: Which eigenpairs a graph has, and which a block may use, ``[G, K]``.
    exist: Tensor
    usable: Tensor
    #: Return probabilities of random walks ``[n, steps]``.
    random_walk: Tensor
    #: ``log(1 + degree)``, ``[n]``.
    log_degree: Tensor

    def to(self, *arguments: Any, **more: Any) -> Batch:
        """The same on another device."""
        fields = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **{name: value.to(*arguments, **more) for name, value in fields.items()})


def _prepared(request: dict[str, Any], source: _inputs.Source, handle: object | None) -> Batch:
    reply = call("prepare", {"source": source.request, **request}, source.arrays, handle)
    widths, pairs, steps = (reply.value[key] for key in ("widths", "eigenpairs", "random_walk_steps"))
    kinds = "i8 i8 i8 f4 i8 f4 f4 f4 i8 i8 f4 f4".split()
    parts = [torch.from_numpy(np.frombuffer(part, kind)) for part, kind in zip(reply.arrays, kinds, strict=True)]
    nodes, ends, *tables, values, vectors, count, usable, walk, degree = parts
    n, e, graphs = int(nodes.sum()), len(ends) // 2, len(nodes)
    rows = (n, n, e, e)
    first, second, third, fourth = (part.reshape(row, width) for part, row, width in zip(tables, rows, widths, strict=True))
    place = torch.arange(pairs)
    return Batch(
        node_categories=first,
        node_numbers=second,
        edge_index=ends.reshape(2, e),
        edge_categories=third,
        edge_numbers=fourth,
        batch=torch.repeat_interleave(torch.arange(graphs), nodes),
        num_graphs=graphs,
        eigenvalues=values.reshape(graphs, pairs),
        eigenvectors=vectors.reshape(n, pairs),
        exist=place < count[:, None],
        usable=place < usable[:, None],
        random_walk=walk.reshape(n, steps),
        log_degree=degree,
    )


def collate(model: Model, data: Any) -> Batch:
    """What a model reads about some graphs, as tensors; fails if one of them cannot be used."""
    source = _inputs.to_predict(data, model._description, pairs=False)
    return _prepared({}, source, model._handle)


class GraphMinNet(nn.Module):
    """The whole model. ``config`` has the keys of the ``[model]`` section of a configuration."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        c = self.config = dict(config)
        c["local"] = "gatedgcn" if c["local"] == "gated" else c["local"]
        c.setdefault("global", "graphminnet")
        known = {"local": ("gatedgcn", "gine", "none"), "global": ("graphminnet", "none"), "level": ("graph", "node")}
        for key, words in known.items():
            if c[key] not in words:
                raise UsageError(f"{key} = {c[key]}: here only {', '.join(words)} are written in PyTorch")
        if c.get("graph_in", 0):
            raise UsageError(f"graph_in = {c['graph_in']}: descriptors of whole graphs are not written in PyTorch")
        positional = c["pe_dim"] if c["node_pe"] != "none" else 0
        hidden = c["hidden"]
        self.node_encoder = encoder_of(c["node_encoder"], c["node_in"], c["node_vocab"], hidden - positional)
        if c["node_pe"] != "none":
            self.node_pe = LapPE(positional) if c["node_pe"] == "lappe" else RWSE(c["rwse_steps"], positional)
        reads_edges = c["local"] != "none"
        self.edge_encoder = encoder_of(c["edge_encoder"], c["edge_in"], c["edge_vocab"], hidden) if reads_edges else None
        wanted = c.get("allocate_set_encoder")
        used = "deepset" in (c["phi_a"], c["phi_c"]) and c["global"] != "none"
        self.set_encoder = SetEncoder(c["pe_width"]) if wanted or (wanted is None and used) else None
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["layers"]))
        self.head = Head(c)
        scaled = c.get("standardize", False)
        self.node_scale = Scale(c["node_in"]) if scaled and c["node_encoder"] in ("linear", "mixed") else None
        of_edges = scaled and reads_edges and c["edge_encoder"] in ("linear", "mixed")
        self.edge_scale = Scale(c["edge_in"]) if of_edges else None
        #: What is known about the model but its weights, where it came from a file.
        self.description: dict[str, Any] | None = None

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """What the first layer sees: features of nodes and edges."""
        c = self.config
        x = encoded(self.node_encoder, c["node_encoder"], batch.node_categories, batch.node_numbers, self.node_scale)
        x = nn.functional.dropout(x, c.get("drop_encoder", 0.0), self.training)
        for _ in range(c.get("encoder_hops", 0)):
            x = averaged(x, batch.edge_index)
        if c["node_pe"] == "lappe":
            pairs = c["lap_dim"] + 1
            vectors, values = batch.eigenvectors[:, :pairs], batch.eigenvalues[:, :pairs][batch.batch]
            if self.training and c["lappe_sign_flip"]:
                vectors = vectors * (torch.randint(0, 2, (pairs,), device=vectors.device) * 2 - 1)
            x = torch.cat([x, self.node_pe(vectors, values, batch.exist[:, :pairs][batch.batch])], 1)
        elif c["node_pe"] == "rwse":
            x = torch.cat([x, self.node_pe(batch.random_walk)], 1)
        if self.edge_encoder is None:
            return x, None
        numbers = batch.edge_numbers
        return x, encoded(self.edge_encoder, c["edge_encoder"], batch.edge_categories, numbers, self.edge_scale)

    def embed(self, batch: Batch) -> Tensor:
        """Features of nodes after the last layer, ``[n, hidden]``."""
        x, e = self.encode(batch)
        pairs = (batch.eigenvalues, batch.eigenvectors, batch.usable, batch.batch)
        spectrum = spectrum_of(self.config, self.set_encoder, *pairs)
        for layer in self.layers:
            x, e = layer(x, e, spectrum, batch)
        return x

    def forward(self, batch: Batch) -> Tensor:
        """Outputs of the head, ``[G or n, outputs]``: scores, or numbers that :meth:`in_units` brings to the data's units."""
        x, graphs = self.embed(batch), batch.num_graphs
        if self.config["level"] == "graph":
            count = torch.bincount(batch.batch, minlength=graphs)[:, None]
            if self.config["pooling"] == "max":
                index = batch.batch[:, None].expand_as(x)
                x = x.new_full((graphs, x.shape[1]), -torch.inf).scatter_reduce(0, index, x, "amax")
                x = x.masked_fill(count == 0, 0.0)
            else:
                x = summed(x, batch.batch, graphs) / (count.clamp_min(1) if self.config["pooling"] == "mean" else 1)
        return self.head(x)

    def in_units(self, outputs: Tensor) -> Tensor:
        """What outputs stand for, in the units of the data, where targets were standardised for training.

        The first columns are the predictions, one per target. After the means of a model with the loss ``mean_variance`` come
        their deviations; after the medians of one with the loss ``quantile`` the other quantiles, level by level."""
        about = self.description or {}
        loss, levels = about.get("loss"), [float(text) for text in about.get("quantiles", [])]
        count = 2 if loss == "mean_variance" else max(len(levels), 1)
        blocks = list(outputs.split(outputs.shape[1] // count, 1))
        if loss == "mean_variance":
            least, most = LOG_VARIANCES
            softplus = nn.functional.softplus
            log_variance = least + softplus(blocks[1] - least) - softplus(blocks[1] - most)
            blocks[1] = (0.5 * log_variance).exp()
        elif levels:
            # The block of the median is the first; quantiles that cross are put in their order.
            median = levels.index(0.5)
            ordered = torch.stack([*blocks[1 : median + 1], blocks[0], *blocks[median + 1 :]]).sort(0).values
            blocks = [ordered[median], *ordered[:median], *ordered[median + 1 :]]
        if (scaler := about.get("target_scaler")) is not None:
            # Written as text, so that no digit is lost.
            mean, deviation = (outputs.new_tensor([float(text) for text in scaler[key]]) for key in ("mean", "deviation"))
            moved = [not (loss == "mean_variance" and at > 0) for at in range(count)]
            blocks = [block * deviation + mean if moves else block * deviation for block, moves in zip(blocks, moved)]
        return torch.cat(blocks, 1)


class GraphMinNetConv(nn.Module):
    """The block alone, as a layer for models of PyTorch Geometric: every node sees the whole graph.

    ``settings`` are further keys of the ``[model]`` section, such as ``inner_product``.
    """

    def __init__(self, channels: int, *, lap_dim: int = 16, pe_width: int = 32, self_term: bool = True, **settings: Any) -> None:
        super().__init__()
        self.config: dict[str, Any] = {
            "hidden": channels, "lap_dim": lap_dim, "pe_width": pe_width, "self_term": self_term, "global": "graphminnet",
            "layout": "channel", "aggregate": "mul", "inner_product": "type1", "type4_first": "type1", "type4_second": "type3",
            "phi_a": "deepset", "phi_c": "deepset", "beta": "learn", "beta_range": "clamp", "nonlinear_wb": "none",
            "nonlinear_zh": "none", "zh_bias": True, "degree_scaling": False, "input_norm": "ball", "drop_gmn": 0.0,
            "drop_gmn_at": "output",
        }  # fmt: skip
        if unknown := sorted(set(settings) - set(self.config)):
            raise UsageError(f"{', '.join(unknown)}: the settings are {', '.join(self.config)}")
        self.config |= settings
        self.block = Block(self.config)
        self.set_encoder = SetEncoder(pe_width) if "deepset" in (self.config["phi_a"], self.config["phi_c"]) else None

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
        """``x`` [n, channels], ``batch`` [n], ``eigenvalues`` [graphs, K] and ``eigenvectors`` [n, K] with K of at least
        ``lap_dim + 1``, zero where a graph has fewer; gives ``[n, channels]``."""
        graphs = len(eigenvalues)
        if eigenvalues.shape[1] <= self.config["lap_dim"]:
            need, found = self.config["lap_dim"] + 1, eigenvalues.shape[1]
            raise UsageError(f"lap_dim={self.config['lap_dim']} needs {need} eigenpairs, there are {found}")
        usable = torch.ones_like(eigenvalues, dtype=torch.bool)
        spectrum = spectrum_of(self.config, self.set_encoder, eigenvalues, eigenvectors, usable, batch)
        log_degree = torch.log1p(degrees(edge_index, len(x)).to(x.dtype))
        return self.block(x, spectrum, batch, graphs, log_degree)

    def eigenpairs(self, edge_index: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
        """The eigenvalues ``[1, K]`` and eigenvectors ``[n, K]`` of one graph that the layer needs; store them with it."""
        data = {"edge_index": edge_index, "num_nodes": num_nodes}
        request, arrays = _inputs._tables.from_arrays(data).request("graphs")
        wanted = {"eigenpairs": self.config["lap_dim"] + 1, "random_walk_steps": 0}
        batch = _prepared({"wanted": wanted}, _inputs.Source(request, arrays), None)
        return batch.eigenvalues, batch.eigenvectors


# Weights


def _read_tensors(data: bytes) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + at for at in about["data_offsets"])
            tensors[name] = torch.from_numpy(np.frombuffer(data[begin:end], "<f4").reshape(about["shape"]).copy())
    return tensors


def _write_tensors(tensors: Mapping[str, Tensor]) -> bytes:
    header, parts, end = {}, [], 0
    for name, tensor in tensors.items():
        part = tensor.detach().to("cpu", torch.float32).contiguous().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [end, end + len(part)]}
        parts.append(part)
        end += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def from_bundle(model: Model | str | os.PathLike[str]) -> GraphMinNet:
    """The model of a file (or a loaded one) in PyTorch, in evaluation mode."""
    model = model if isinstance(model, Model) else load(model)
    if len(model) != 1:
        raise UsageError(f"{len(model)} models: choose one of model.members")
    module = GraphMinNet(model.description["model"])
    tensors = _read_tensors(bytes(call("weights", None, (), model._handle).arrays[0]))
    missing, unexpected = module.load_state_dict(tensors, strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    if missing or unexpected:
        raise UsageError(f"the weights do not fit: missing {missing}, unexpected {unexpected}")
    module.description = model.description
    return module.eval()


def to_bundle(module: GraphMinNet, path: str | os.PathLike[str] | None = None) -> Model:
    """The module as a model of the package, with the description that it came with; written to a file if one is named."""
    if module.description is None:
        raise UsageError("a model file describes data and training too: only a module that came from one can go back")
    state = {name: value for name, value in module.state_dict().items() if not name.endswith("num_batches_tracked")}
    model = Model(call("assemble", module.description, (_write_tensors(state),)))
    if path is not None:
        model.save(Path(path))
    return model
