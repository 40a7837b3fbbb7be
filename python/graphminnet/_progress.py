"""How a training goes on: a line in a terminal, a bar in a notebook, nothing but warnings elsewhere."""

from __future__ import annotations

import sys
import time
import warnings
from html import escape
from typing import Any

from . import _html


class Silent:
    """Shows nothing."""

    def __call__(self, event: dict[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


class Warnings(Silent):
    """Shows nothing, but what makes a result worth little is a warning of Python's."""

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "warning":
            warnings.warn(event["text"], stacklevel=7)


class Lines(Silent):
    """One line per epoch, and what was noticed, on standard error."""

    def __init__(self) -> None:
        self.metric = ""
        self.seed: dict[str, Any] = {}
        self.best: tuple[int, float] | None = None

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def __call__(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "inferred":
            self.metric = event["metric"]
            for note in event["notes"]:
                self.say(f"  {note}")
        elif kind == "loaded":
            self.say(event["text"])
            for note in event["notes"]:
                self.say(f"note: {note}")
            for row in event["left_out"]:
                self.say(f"left out: {row}")
        elif kind == "run":
            self.say(f"run directory: {event['path']}")
        elif kind == "seed":
            self.seed, self.best = event, None
            length = f"{_html.counted(event['epochs'], 'epoch')} of {_html.counted(event['steps'], 'step')}"
            self.say(f"seed {event['seed']}: {event['parameters']} parameters, {length}")
        elif kind == "epoch":
            if event["improved"] and event["valid"] is not None:
                self.best = (event["epoch"] + 1, event["valid"])
            self.epoch(event)
        elif kind == "early_stop":
            self.say(f"stopped early after epoch {event['epoch'] + 1}: no better validation metric since epoch {event['best'] + 1}")
        elif kind == "note":
            self.say(event["text"])
        elif kind == "warning":
            self.say(f"warning: {event['text']}")

    def epoch(self, event: dict[str, Any]) -> None:
        """Says how an epoch ended."""
        self.say(self.words(event))

    def words(self, event: dict[str, Any]) -> str:
        """An epoch in one line."""
        text = f"epoch {event['epoch'] + 1}/{event['epochs']}  loss {event['loss']:.4f}"
        text += f"  valid {self.metric} {_html.number(event['valid'])}  test {_html.number(event['test'])}"
        if self.best is not None:
            text += f"  best {self.best[1]:.4f} in epoch {self.best[0]}"
        return text


class Live(Lines):
    """A bar that moves with every step; how it is shown is for others to say."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""
        self.began: tuple[float, float] | None = None

    def show(self, fraction: float, text: str) -> None:
        """Shows the bar."""
        raise NotImplementedError

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "seed":
            # Another seed begins anew.
            self.last, self.began = "", None
        elif event["event"] == "preparing":
            self.show(event["done"] / max(event["total"], 1), event["what"])
        elif event["event"] == "step":
            self.show(self.fraction(event["epoch"] + event["step"] / max(event["steps"], 1)), self.last or "epoch 1")
        super().__call__(event)

    def fraction(self, epochs: float) -> float:
        """How much of the schedule is done."""
        done = epochs / max(int(self.seed.get("epochs", 1)), 1)
        if self.began is None:
            self.began = (time.monotonic(), done)
        return done

    def left(self, fraction: float) -> str:
        """How long it will take."""
        if self.began is None or fraction <= self.began[1]:
            return ""
        seconds = (time.monotonic() - self.began[0]) / (fraction - self.began[1]) * (1 - fraction)
        return f"{int(seconds) // 60}:{int(seconds) % 60:02d} left"

    def epoch(self, event: dict[str, Any]) -> None:
        self.last = self.words(event)
        self.show(self.fraction(event["epoch"] + 1), self.last)


class Terminal(Live):
    """A line that is written over again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.width = 0

    def show(self, fraction: float, text: str) -> None:
        import shutil

        full = round(20 * fraction)
        line = f"{fraction:4.0%} |{'█' * full}{' ' * (20 - full)}| {text}  {self.left(fraction)}"
        # A longer line could not be written over.
        line = line[: max(shutil.get_terminal_size().columns - 1, 20)]
        print("\r" + line.ljust(self.width), end="", file=sys.stderr, flush=True)
        self.width = len(line)

    def say(self, text: str) -> None:
        if self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr)
            self.width = 0
        super().say(text)

    def close(self) -> None:
        if self.width:
            print(file=sys.stderr)


class Notebook(Live):
    """A bar in the cell of a notebook, with the last things that were said below it."""

    def __init__(self) -> None:
        super().__init__()
        from IPython.display import HTML, display

        self.html = HTML
        self.said: list[str] = []
        self.bar = ""
        self.handle: Any = display(HTML(""), display_id=True)

    def show(self, fraction: float, text: str) -> None:
        self.bar = f'<progress value="{fraction:.4f}" max="1" style="width:20em"></progress> {escape(text)} {self.left(fraction)}'
        self.update()

    def say(self, text: str) -> None:
        self.said = [*self.said, text][-8:]
        self.update()

    def update(self) -> None:
        """Draws the cell again."""
        lines = "<br>".join(escape(text) for text in self.said)
        self.handle.update(self.html(f"<div>{self.bar}</div><small>{lines}</small>"))


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def chosen(progress: bool | None) -> Silent:
    """What fits the surroundings; True asks for lines where nothing does, False for nothing."""
    if progress is False:
        return Silent()
    if _in_notebook():
        return Notebook()
    if sys.stderr is not None and sys.stderr.isatty():
        return Terminal()
    return Lines() if progress else Warnings()
