"""Small pieces of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A title and a table of names and values."""
    style = "text-align:left;padding:0 1em 0 0"
    body = "".join(
        f'<tr><th style="{style}">{escape(name)}</th><td style="{style}">{escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{body}</table></div>"


def page(html: str, height: int = 700) -> str:
    """A whole page inside a notebook's cell; it cannot reach what is around it."""
    return f'<iframe srcdoc="{escape(html)}" sandbox style="width:100%;height:{height}px;border:1px solid #ccc"></iframe>'


def number(value: float | None) -> str:
    """A metric, or a dash."""
    return "–" if value is None else f"{value:.4f}"


def counted(count: int, what: str) -> str:
    """A number of things: 1 graph, 2 graphs."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
