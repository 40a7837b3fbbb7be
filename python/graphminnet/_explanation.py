"""Which nodes and edges a prediction rests on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True)
class Explanation:
    """Which nodes and edges a prediction rests on; a notebook shows it as a picture."""

    #: The number that is explained, in words.
    subject: str
    #: The prediction: a number in the units of the data, or a score (logit).
    prediction: float
    #: What the model says about the same graph with all features empty.
    baseline: float
    #: The share of every node.
    nodes: Array
    #: The share of every directed edge; empty for models without edge features.
    edges: Array
    #: The ends of those edges, ``[2, edges]``.
    edge_index: Array
    #: How far the shares are from adding up, relative to ``prediction - baseline``.
    gap: float
    #: ``integrated`` or ``gradient``.
    method: str
    #: The node that is explained, for models that answer per node.
    node: int | None
    #: The picture.
    svg: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the picture as SVG."""
        Path(path).write_text(self.svg, encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        strongest = sorted(range(len(self.nodes)), key=lambda node: -abs(self.nodes[node]))[:3]
        words = ", ".join(f"{node} ({self.nodes[node]:+.4f})" for node in strongest)
        return f"<Explanation of {self.subject} = {self.prediction:.4f}; strongest nodes: {words}>"

    def _repr_html_(self) -> str:
        return f'<div style="max-width:640px">{self.svg}</div>'
