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
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from . import _inputs
from ._call import call
from ._errors import UsageError
from ._model import Model, load

__all__ = ["Batch", "GraphMinNet", "GraphMinNetConv", "collate", "from_bundle", "to_bundle"]

#: Eigenvalues below this belong to components, not to positions.
_ZERO = 1e-4


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
    source = _inputs.to_predict(data, model.description["schema"])
    return _prepared({}, source, model._handle)


def _sum(values: Tensor, index: Tensor, size: int) -> Tensor:
    return values.new_zeros((size, *values.shape[1:])).index_add(0, index, values)


# The set encoder


class _SetMLP(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lin1, self.ln1 = nn.Linear(width, width), nn.LayerNorm(width)
        self.lin2, self.ln2 = nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.ln2(self.lin2(F.silu(self.ln1(self.lin1(x))))))


class _SetLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.f, self.g = _SetMLP(width), _SetMLP(width)

    def forward(self, e: Tensor, valid: Tensor) -> Tensor:
        known = valid.unsqueeze(-1).to(e.dtype)
        mean = (self.f(e) * known).sum(1, keepdim=True) / known.sum(1, keepdim=True).clamp_min(1.0)
        return e + mean * self.g(e)


class _SetEncoder(nn.Module):
    """Coefficients of every eigenvalue that depend on the whole spectrum, whatever its order."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.input, self.input_ln = nn.Linear(1, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(_SetLayer(width) for _ in range(3))

    def forward(self, eigenvalues: Tensor, valid: Tensor) -> Tensor:
        roots = torch.where(valid, eigenvalues, 1.0).sqrt() * valid
        e = F.silu(self.input_ln(self.input(roots.unsqueeze(-1))))
        for layer in self.layers:
            e = layer(e, valid)
        return e * valid.unsqueeze(-1)


# The block


@dataclass
class _Spectrum:
    """What the eigenpairs contribute, shared by all layers: columns first, ``[G or n, columns, rows]``."""

    phi_a: Tensor
    phi_c: Tensor
    positions: Tensor | None


def _spectrum(c: Mapping[str, Any], encoder: nn.Module | None, values: Tensor, vectors: Tensor, usable: Tensor, batch: Tensor) -> _Spectrum:
    pairs, width, graphs = c["lap_dim"], c["pe_width"], len(values)
    if pairs == 0 or c["global"] == "none":
        ones = vectors.new_ones(graphs, 1, width)
        return _Spectrum(ones, torch.zeros_like(ones), None)
    values, vectors = values[:, 1 : pairs + 1], vectors[:, 1 : pairs + 1]
    valid = usable[:, 1 : pairs + 1] & (values.abs() >= _ZERO)
    positions = vectors * valid[batch]
    encoded = encoder(values, valid) if encoder is not None and "deepset" in (c["phi_a"], c["phi_c"]) else None

    def phi(kind: str) -> Tensor:
        if kind == "deepset" and encoded is not None:
            return encoded
        if kind == "zero":
            return values.new_zeros(graphs, pairs, width)
        raised = torch.where(valid, values, 1.0) ** int(kind.partition(":")[2]) * valid
        return raised.unsqueeze(-1).expand(graphs, pairs, width)

    a, b = phi(c["phi_a"]), phi(c["phi_c"])
    if c["layout"] == "channel":
        return _Spectrum(a, b, positions.unsqueeze(-1))
    return _Spectrum(a.transpose(1, 2), b.transpose(1, 2), positions.unsqueeze(1))


_ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}


def _projection(inputs: int, outputs: int, activation: str, bias: bool) -> nn.Module:
    if activation == "none":
        return nn.Linear(inputs, outputs, bias=bias)
    middle = _ACTIVATIONS[activation]()
    return nn.Sequential(nn.Linear(inputs, outputs, bias=bias), middle, nn.Linear(outputs, outputs, bias=bias))


def _pair(kind: str, x: Tensor, y: Tensor) -> Tensor:
    """Inner products of ``[..., columns, rows]``: per row, per column, or of the whole."""
    product = x * y
    if kind == "type1":
        return product.sum(-2)
    return product.sum(-1) if kind == "type2" else product.sum((-1, -2)).unsqueeze(-1)


class _Block(nn.Module):
    """The GraphMinNet block, with the paper's letters."""

    def __init__(self, c: Mapping[str, Any]) -> None:
        super().__init__()
        self.c = c
        hidden = c["hidden"]
        rows = c["pe_width"] if c["layout"] == "channel" else c["lap_dim"]
        self.W = _projection(hidden, rows, c["nonlinear_wb"], False)
        self.B = _projection(rows, hidden, c["nonlinear_wb"], False)
        self.z = _projection(hidden, hidden, c["nonlinear_zh"], c["zh_bias"])
        self.h = _projection(hidden, hidden, c["nonlinear_zh"], c["zh_bias"])
        if c["self_term"]:
            self.Ws1, self.Ws2 = nn.Linear(rows, rows, bias=False), nn.Linear(rows, rows, bias=False)
            if c["beta"] == "learn":
                self.beta = nn.Parameter(torch.full((1,), 0.0 if c["beta_range"] == "sigmoid" else 1.0))
        if c["degree_scaling"]:
            self.deg_coef = nn.Parameter(torch.randn(hidden, 2) * (2 * hidden) ** -0.5)

    def _beta(self) -> Tensor | float:
        if self.c["beta"] != "learn":
            return float(self.c["beta"].partition(":")[2])
        if self.c["beta_range"] == "raw":
            return self.beta
        return self.beta.clamp(0.0, 2.0) if self.c["beta_range"] == "clamp" else 2 * torch.sigmoid(self.beta)

    def _dropped(self, x: Tensor, place: str) -> Tensor:
        return F.dropout(x, self.c["drop_gmn"], self.training) if self.c["drop_gmn_at"] == place else x

    def forward(self, x: Tensor, spectrum: _Spectrum, batch: Tensor, graphs: int, log_degree: Tensor | None) -> Tensor:
        c = self.c
        if c["degree_scaling"] and log_degree is not None:
            x = x * (self.deg_coef[:, 0] + log_degree[:, None] * self.deg_coef[:, 1])
        if c["input_norm"] != "none":
            size = (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()
            x = x / (size if c["input_norm"] == "rms" else size.clamp_min(1.0))
        gate, candidate = torch.sigmoid(self.z(x)), self._dropped(self.h(x), "htilde")
        features = spectrum.phi_a[batch] * self.W(x)[:, None, :]
        place = spectrum.phi_c[batch]
        place = torch.zeros_like(features) if spectrum.positions is None else place * spectrum.positions
        similarity = self._similarity(features, place, batch, graphs)
        if c["self_term"]:
            own = (self.Ws1(place) * self.Ws2(place)).sum((-1, -2)).unsqueeze(-1)
            beta = self._beta()
            similarity = beta * similarity + (2.0 - beta) * own
        return self._dropped(gate * candidate * similarity, "output")

    def _similarity(self, features: Tensor, place: Tensor, batch: Tensor, graphs: int) -> Tensor:
        c = self.c
        kind = c["inner_product"]
        if kind.startswith("type4"):
            one, other = (self.B(place), features) if kind == "type4a" else (self.B(features), place)
            first = _pair(c["type4_first"], one[:, None], one[None])
            second = _pair(c["type4_second"], other[:, None], other[None])
            return (first * second * (batch[:, None] == batch[None]).unsqueeze(-1)).sum(1)
        a = self._dropped(self.B(features * place if c["aggregate"] == "mul" else features + place), "a")
        return _pair(kind, a, _sum(a, batch, graphs)[batch])


# Around the block


class _GatedGCN(nn.Module):
    def __init__(self, hidden: int, drop: float) -> None:
        super().__init__()
        for name in "ABCDE":
            setattr(self, name, nn.Linear(hidden, hidden))
        self.bn_node, self.bn_edge, self.drop = nn.BatchNorm1d(hidden), nn.BatchNorm1d(hidden), drop

    def forward(self, x: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edge_index
        mixed = self.D(x)[target] + self.E(x)[source] + self.C(e)
        gate = torch.sigmoid(mixed)
        total = _sum(gate * self.B(x)[source], target, len(x)) / (_sum(gate, target, len(x)) + 1e-6)
        nodes = F.dropout(F.relu(self.bn_node(self.A(x) + total)), self.drop, self.training)
        return x + nodes, e + F.dropout(F.relu(self.bn_edge(mixed)), self.drop, self.training)


class _GINE(nn.Module):
    def __init__(self, hidden: int, drop: float) -> None:
        super().__init__()
        self.lin1, self.lin2, self.drop = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), drop

    def forward(self, x: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edge_index
        seen = x + _sum(F.relu(x[source] + e), target, len(x))
        return x + F.dropout(self.lin2(F.relu(self.lin1(seen))), self.drop, self.training), e


class _Layer(nn.Module):
    def __init__(self, c: Mapping[str, Any]) -> None:
        super().__init__()
        self.c, hidden = c, c["hidden"]
        if c["local"] != "none":
            self.local = {"gatedgcn": _GatedGCN, "gine": _GINE}[c["local"]](hidden, c["drop_local"])
            self.norm_local = nn.BatchNorm1d(hidden)
        if c["global"] != "none":
            self.gmn = _Block(c)
            self.norm_global = nn.BatchNorm1d(hidden)
        self.ffn1, self.ffn2 = nn.Linear(hidden, 2 * hidden), nn.Linear(2 * hidden, hidden)
        self.norm_ffn = nn.BatchNorm1d(hidden)

    def forward(self, x: Tensor, e: Tensor | None, spectrum: _Spectrum, batch: Batch) -> tuple[Tensor, Tensor | None]:
        c, y = self.c, torch.zeros_like(x)
        if c["global"] != "none":
            seen = self.gmn(x, spectrum, batch.batch, batch.num_graphs, batch.log_degree)
            y = self.norm_global(x + F.dropout(seen, c["drop_res"], self.training))
        if c["local"] != "none":
            near, e = self.local(x, e, batch.edge_index)
            y = self.norm_local(near) + y
        inner = F.dropout(F.relu(self.ffn1(y)), c["drop_ffn"], self.training)
        return self.norm_ffn(y + F.dropout(self.ffn2(inner), c["drop_ffn"], self.training)), e


class _Tables(nn.Module):
    """A sum of one table per column."""

    def __init__(self, sizes: list[int], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in sizes)

    def forward(self, categories: Tensor) -> Tensor:
        return torch.stack([table(categories[:, at]) for at, table in enumerate(self.tables)]).sum(0)


class _Mixed(nn.Module):
    def __init__(self, numbers: int, sizes: list[int], width: int) -> None:
        super().__init__()
        self.numbers, self.categories = nn.Linear(numbers, width), _Tables(sizes, width)


class _PreMP(nn.Module):
    def __init__(self, numbers: int, width: int) -> None:
        super().__init__()
        self.lin, self.bn = nn.Linear(numbers, width, bias=False), nn.BatchNorm1d(width)

    def forward(self, numbers: Tensor) -> Tensor:
        return F.normalize(F.relu(self.bn(self.lin(numbers))), dim=1)


class _LapPE(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(2, 2 * width), nn.Linear(2 * width, width)

    def forward(self, vectors: Tensor, values: Tensor, exist: Tensor) -> Tensor:
        y = F.relu(self.lin2(F.relu(self.lin1(torch.stack([vectors, values], -1)))))
        return (y * exist.unsqueeze(-1)).sum(1)


class _RWSE(nn.Module):
    def __init__(self, steps: int, width: int) -> None:
        super().__init__()
        self.bn, self.lin = nn.BatchNorm1d(steps), nn.Linear(steps, width)

    def forward(self, probabilities: Tensor) -> Tensor:
        return self.lin(self.bn(probabilities))


class _Scale(nn.Module):
    """Numbers on the scale of the training data; kept, not trained."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(columns))
        self.register_buffer("running_var", torch.ones(columns))

    def forward(self, numbers: Tensor) -> Tensor:
        return (numbers - self.running_mean) / self.running_var.sqrt()


class _Head(nn.Module):
    def __init__(self, c: Mapping[str, Any]) -> None:
        super().__init__()
        hidden = c["hidden"]
        widths = [hidden, hidden // 2, hidden // 4] if c["head"] == "san" else [hidden] * c["head_layers"]
        pairs = zip(widths, [*widths[1:], c["out_dim"]], strict=True)
        self.lins = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairs)
        self.normalise = c["head"] == "mlp" and c["head_l2norm"]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.lins[:-1]:
            x = F.relu(layer(x))
            x = F.normalize(x, dim=1) if self.normalise else x
        return self.lins[-1](x)


def _encoder(kind: str, numbers: int, sizes: list[int], width: int) -> nn.Module | None:
    if kind in ("linear", "degrees"):
        return nn.Linear(numbers, width)
    if kind in ("embed", "dummy"):
        return nn.Embedding(1 if kind == "dummy" else sizes[0], width)
    if kind == "atoms":
        return _Tables(sizes, width)
    if kind == "mixed":
        return _Mixed(numbers, sizes, width)
    return _PreMP(numbers, width) if kind == "premp" else None


def _encoded(encoder: nn.Module, kind: str, categories: Tensor, numbers: Tensor, scale: nn.Module | None) -> Tensor:
    numbers = numbers if scale is None else scale(numbers)
    if isinstance(encoder, _Mixed):
        mixed: Tensor = encoder.numbers(numbers) + encoder.categories(categories)
        return mixed
    if kind == "dummy":
        return encoder(torch.zeros(len(numbers), dtype=torch.long, device=numbers.device))
    if kind == "embed":
        return encoder(categories[:, 0])
    return encoder(categories if kind == "atoms" else numbers)


class GraphMinNet(nn.Module):
    """The whole model. ``config`` has the keys of the ``[model]`` section of a configuration."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        c = self.config = dict(config)
        c["local"] = "gatedgcn" if c["local"] == "gated" else c["local"]
        c.setdefault("global", "graphminnet")
        known = {"local": ("gatedgcn", "gine", "none"), "global": ("graphminnet", "none")}
        for key, words in known.items():
            if c[key] not in words:
                raise UsageError(f"{key} = {c[key]}: here only {', '.join(words)} are written in PyTorch")
        positional = c["pe_dim"] if c["node_pe"] != "none" else 0
        hidden = c["hidden"]
        self.node_encoder = _encoder(c["node_encoder"], c["node_in"], c["node_vocab"], hidden - positional)
        if c["node_pe"] != "none":
            self.node_pe = _LapPE(positional) if c["node_pe"] == "lappe" else _RWSE(c["rwse_steps"], positional)
        reads_edges = c["local"] != "none"
        self.edge_encoder = _encoder(c["edge_encoder"], c["edge_in"], c["edge_vocab"], hidden) if reads_edges else None
        wanted = c.get("allocate_set_encoder")
        used = "deepset" in (c["phi_a"], c["phi_c"]) and c["global"] != "none"
        self.set_encoder = _SetEncoder(c["pe_width"]) if wanted or (wanted is None and used) else None
        self.layers = nn.ModuleList(_Layer(c) for _ in range(c["layers"]))
        self.head = _Head(c)
        scaled = c.get("standardize", False)
        self.node_scale = _Scale(c["node_in"]) if scaled and c["node_encoder"] in ("linear", "mixed") else None
        of_edges = scaled and reads_edges and c["edge_encoder"] in ("linear", "mixed")
        self.edge_scale = _Scale(c["edge_in"]) if of_edges else None
        #: What is known about the model but its weights, where it came from a file.
        self.description: dict[str, Any] | None = None

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """What the first layer sees: features of nodes and edges."""
        c = self.config
        x = _encoded(self.node_encoder, c["node_encoder"], batch.node_categories, batch.node_numbers, self.node_scale)
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
        return x, _encoded(self.edge_encoder, c["edge_encoder"], batch.edge_categories, numbers, self.edge_scale)

    def embed(self, batch: Batch) -> Tensor:
        """Features of nodes after the last layer, ``[n, hidden]``."""
        x, e = self.encode(batch)
        pairs = (batch.eigenvalues, batch.eigenvectors, batch.usable, batch.batch)
        spectrum = _spectrum(self.config, self.set_encoder, *pairs)
        for layer in self.layers:
            x, e = layer(x, e, spectrum, batch)
        return x

    def forward(self, batch: Batch) -> Tensor:
        """Outputs of the head, ``[G or n, outputs]``: scores, or numbers that :meth:`in_units` brings to the data's units."""
        x, graphs = self.embed(batch), batch.num_graphs
        if self.config["level"] == "graph":
            if self.config["pooling"] == "max":
                index = batch.batch[:, None].expand_as(x)
                x = x.new_full((graphs, x.shape[1]), -torch.inf).scatter_reduce(0, index, x, "amax")
            else:
                count = torch.bincount(batch.batch, minlength=graphs).clamp_min(1)[:, None]
                x = _sum(x, batch.batch, graphs) / (count if self.config["pooling"] == "mean" else 1)
        return self.head(x)

    def in_units(self, outputs: Tensor) -> Tensor:
        """Outputs in the units of the data, where targets were standardised for training."""
        scaler = (self.description or {}).get("target_scaler")
        if scaler is None:
            return outputs
        # Written as text, so that no digit is lost.
        mean, deviation = (outputs.new_tensor([float(text) for text in scaler[key]]) for key in ("mean", "deviation"))
        return outputs * deviation + mean


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
        self.block = _Block(self.config)
        self.set_encoder = _SetEncoder(pe_width) if "deepset" in (self.config["phi_a"], self.config["phi_c"]) else None

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
        """``x`` [n, channels], ``batch`` [n], ``eigenvalues`` [graphs, K] and ``eigenvectors`` [n, K] with K of at least
        ``lap_dim + 1``, zero where a graph has fewer; gives ``[n, channels]``."""
        graphs = len(eigenvalues)
        if eigenvalues.shape[1] <= self.config["lap_dim"]:
            need, found = self.config["lap_dim"] + 1, eigenvalues.shape[1]
            raise UsageError(f"lap_dim={self.config['lap_dim']} needs {need} eigenpairs, there are {found}")
        usable = torch.ones_like(eigenvalues, dtype=torch.bool)
        spectrum = _spectrum(self.config, self.set_encoder, eigenvalues, eigenvectors, usable, batch)
        log_degree = torch.log1p(torch.bincount(edge_index[0], minlength=len(x)).to(x.dtype))
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
