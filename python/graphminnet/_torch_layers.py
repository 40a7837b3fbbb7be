"""The parts of the model in plain PyTorch, under the names that their parameters have in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

#: Eigenvalues below this belong to components, not to positions.
ZERO = 1e-4


def summed(values: Tensor, index: Tensor, size: int) -> Tensor:
    return values.new_zeros((size, *values.shape[1:])).index_add(0, index, values)


def averaged(x: Tensor, edge_index: Tensor) -> Tensor:
    """The normalised sum over a node and its neighbours, as in a GCN without weights."""
    source, target = edge_index
    scale = (1 + torch.bincount(target, minlength=len(x)).to(x.dtype)).rsqrt()[:, None]
    scaled = x * scale
    return (scaled + summed(scaled[source], target, len(x))) * scale


def degrees(edge_index: Tensor, nodes: int) -> Tensor:
    """Distinct neighbours of every node, itself not counted, whatever the directions of edges: as the package counts."""
    source, target = edge_index[:, edge_index[0] != edge_index[1]].long()
    neighbours = torch.unique(torch.cat([source * nodes + target, target * nodes + source]))
    return torch.bincount(neighbours // max(nodes, 1), minlength=nodes)


# The set encoder


class SetMLP(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lin1, self.ln1 = nn.Linear(width, width), nn.LayerNorm(width)
        self.lin2, self.ln2 = nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.ln2(self.lin2(F.silu(self.ln1(self.lin1(x))))))


class SetLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.f, self.g = SetMLP(width), SetMLP(width)

    def forward(self, e: Tensor, valid: Tensor) -> Tensor:
        known = valid.unsqueeze(-1).to(e.dtype)
        mean = (self.f(e) * known).sum(1, keepdim=True) / known.sum(1, keepdim=True).clamp_min(1.0)
        return e + mean * self.g(e)


class SetEncoder(nn.Module):
    """Coefficients of every eigenvalue that depend on the whole spectrum, whatever its order."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.input, self.input_ln = nn.Linear(1, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(SetLayer(width) for _ in range(3))

    def forward(self, eigenvalues: Tensor, valid: Tensor) -> Tensor:
        roots = torch.where(valid, eigenvalues, 1.0).sqrt() * valid
        e = F.silu(self.input_ln(self.input(roots.unsqueeze(-1))))
        for layer in self.layers:
            e = layer(e, valid)
        return e * valid.unsqueeze(-1)


# The block


@dataclass
class Spectrum:
    """What the eigenpairs contribute, shared by all layers: columns first, ``[G or n, columns, rows]``."""

    phi_a: Tensor
    phi_c: Tensor
    positions: Tensor | None


def spectrum_of(c: Mapping[str, Any], encoder: nn.Module | None, values: Tensor, vectors: Tensor, usable: Tensor, batch: Tensor) -> Spectrum:
    pairs, width, graphs = c["lap_dim"], c["pe_width"], len(values)
    if pairs == 0 or c["global"] == "none":
        ones = vectors.new_ones(graphs, 1, width)
        return Spectrum(ones, torch.zeros_like(ones), None)
    values, vectors = values[:, 1 : pairs + 1], vectors[:, 1 : pairs + 1]
    valid = usable[:, 1 : pairs + 1] & (values.abs() >= ZERO)
    positions = vectors * valid[batch]
    shared = encoder(values, valid) if encoder is not None and "deepset" in (c["phi_a"], c["phi_c"]) else None

    def phi(kind: str) -> Tensor:
        if kind == "deepset" and shared is not None:
            return shared
        if kind == "zero":
            return values.new_zeros(graphs, pairs, width)
        raised = torch.where(valid, values, 1.0) ** int(kind.partition(":")[2]) * valid
        return raised.unsqueeze(-1).expand(graphs, pairs, width)

    a, b = phi(c["phi_a"]), phi(c["phi_c"])
    if c["layout"] == "channel":
        return Spectrum(a, b, positions.unsqueeze(-1))
    return Spectrum(a.transpose(1, 2), b.transpose(1, 2), positions.unsqueeze(1))


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


class Block(nn.Module):
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

    def forward(self, x: Tensor, spectrum: Spectrum, batch: Tensor, graphs: int, log_degree: Tensor | None) -> Tensor:
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
        return _pair(kind, a, summed(a, batch, graphs)[batch])


# Around the block


class GatedGCN(nn.Module):
    def __init__(self, hidden: int, drop: float) -> None:
        super().__init__()
        for name in "ABCDE":
            setattr(self, name, nn.Linear(hidden, hidden))
        self.bn_node, self.bn_edge, self.drop = nn.BatchNorm1d(hidden), nn.BatchNorm1d(hidden), drop

    def forward(self, x: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edge_index
        mixed = self.D(x)[target] + self.E(x)[source] + self.C(e)
        gate = torch.sigmoid(mixed)
        total = summed(gate * self.B(x)[source], target, len(x)) / (summed(gate, target, len(x)) + 1e-6)
        nodes = F.dropout(F.relu(self.bn_node(self.A(x) + total)), self.drop, self.training)
        return x + nodes, e + F.dropout(F.relu(self.bn_edge(mixed)), self.drop, self.training)


class GINE(nn.Module):
    def __init__(self, hidden: int, drop: float) -> None:
        super().__init__()
        self.lin1, self.lin2, self.drop = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), drop

    def forward(self, x: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edge_index
        seen = x + summed(F.relu(x[source] + e), target, len(x))
        return x + F.dropout(self.lin2(F.relu(self.lin1(seen))), self.drop, self.training), e


class Layer(nn.Module):
    def __init__(self, c: Mapping[str, Any]) -> None:
        super().__init__()
        self.c, hidden = c, c["hidden"]
        if c["local"] != "none":
            self.local = {"gatedgcn": GatedGCN, "gine": GINE}[c["local"]](hidden, c["drop_local"])
            self.norm_local = nn.BatchNorm1d(hidden)
        if c["global"] != "none":
            self.gmn = Block(c)
            self.norm_global = nn.BatchNorm1d(hidden)
        self.ffn1, self.ffn2 = nn.Linear(hidden, 2 * hidden), nn.Linear(2 * hidden, hidden)
        self.norm_ffn = nn.BatchNorm1d(hidden)

    def forward(self, x: Tensor, e: Tensor | None, spectrum: Spectrum, batch: Any) -> tuple[Tensor, Tensor | None]:
        c, y = self.c, torch.zeros_like(x)
        if c["global"] != "none":
            seen = self.gmn(x, spectrum, batch.batch, batch.num_graphs, batch.log_degree)
            y = self.norm_global(x + F.dropout(seen, c["drop_res"], self.training))
        if c["local"] != "none":
            near, e = self.local(x, e, batch.edge_index)
            y = self.norm_local(near) + y
        inner = F.dropout(F.relu(self.ffn1(y)), c["drop_ffn"], self.training)
        return self.norm_ffn(y + F.dropout(self.ffn2(inner), c["drop_ffn"], self.training)), e


class Tables(nn.Module):
    """A sum of one table per column."""

    def __init__(self, sizes: list[int], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in sizes)

    def forward(self, categories: Tensor) -> Tensor:
        return torch.stack([table(categories[:, at]) for at, table in enumerate(self.tables)]).sum(0)


class Mixed(nn.Module):
    def __init__(self, numbers: int, sizes: list[int], width: int) -> None:
        super().__init__()
        self.numbers, self.categories = nn.Linear(numbers, width), Tables(sizes, width)


class PreMP(nn.Module):
    def __init__(self, numbers: int, width: int) -> None:
        super().__init__()
        self.lin, self.bn = nn.Linear(numbers, width, bias=False), nn.BatchNorm1d(width)

    def forward(self, numbers: Tensor) -> Tensor:
        return F.normalize(F.relu(self.bn(self.lin(numbers))), dim=1)


class LapPE(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(2, 2 * width), nn.Linear(2 * width, width)

    def forward(self, vectors: Tensor, values: Tensor, exist: Tensor) -> Tensor:
        y = F.relu(self.lin2(F.relu(self.lin1(torch.stack([vectors, values], -1)))))
        return (y * exist.unsqueeze(-1)).sum(1)


class RWSE(nn.Module):
    def __init__(self, steps: int, width: int) -> None:
        super().__init__()
        self.bn, self.lin = nn.BatchNorm1d(steps), nn.Linear(steps, width)

    def forward(self, probabilities: Tensor) -> Tensor:
        return self.lin(self.bn(probabilities))


class Scale(nn.Module):
    """Numbers on the scale of the training data; kept, not trained."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(columns))
        self.register_buffer("running_var", torch.ones(columns))

    def forward(self, numbers: Tensor) -> Tensor:
        return (numbers - self.running_mean) / self.running_var.sqrt()


class Head(nn.Module):
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


def encoder_of(kind: str, numbers: int, sizes: list[int], width: int) -> nn.Module | None:
    if kind in ("linear", "degrees"):
        return nn.Linear(numbers, width)
    if kind in ("embed", "dummy"):
        return nn.Embedding(1 if kind == "dummy" else sizes[0], width)
    if kind == "atoms":
        return Tables(sizes, width)
    if kind == "mixed":
        return Mixed(numbers, sizes, width)
    return PreMP(numbers, width) if kind == "premp" else None


def encoded(encoder: nn.Module, kind: str, categories: Tensor, numbers: Tensor, scale: nn.Module | None) -> Tensor:
    numbers = numbers if scale is None else scale(numbers)
    if isinstance(encoder, Mixed):
        mixed: Tensor = encoder.numbers(numbers) + encoder.categories(categories)
        return mixed
    if kind == "dummy":
        return encoder(torch.zeros(len(numbers), dtype=torch.long, device=numbers.device))
    if kind == "embed":
        return encoder(categories[:, 0])
    return encoder(categories if kind == "atoms" else numbers)
