"""The plots, as SVG files with text elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "playback",  # the same figures produce the same file
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
# the ids of clip paths depend on the last digit of a coordinate, which differs between runs
_UNCLIPPED: Any = {"clip_on": False}
_OURS, _OTHERS, _LOOKBACK = "#1b7f5c", "#9aa5b1", "#3b4a5a"
_COLOURS = (_LOOKBACK, "#8a63a8", "#b5651d")


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def bars(path: Path, panels: Mapping[str, Sequence[tuple[str, float]]], ours: Sequence[str]) -> None:
    """A panel of horizontal bars for each title. The values are ratios to the first bar of the panel."""
    with mpl.rc_context(_STYLE):
        heights = [len(each) for each in panels.values()]
        figure = Figure(figsize=(8, 0.34 * sum(heights) + 0.75 * len(panels)), layout="constrained")
        axes = figure.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        for axis, (title, values) in zip(axes, panels.items(), strict=True):
            names = [name.replace("`", "") for name, _ in values]
            colours = [_OURS if name in ours else _OTHERS for name, _ in values]
            colours[0] = _LOOKBACK
            drawn = axis.barh(names, [value for _, value in values], color=colours, **_UNCLIPPED)
            axis.bar_label(drawn, fmt="%.2f", padding=3)
            axis.axvline(1, color=_LOOKBACK, linewidth=0.8, linestyle=":", **_UNCLIPPED)
            axis.invert_yaxis()
            axis.margins(x=0.1)
            axis.set_title(title, loc="left")
        axes[-1].set_xlabel("executor time of a daily run, the lookback of the stage being 1")
        _save(figure, path)


def lines(path: Path, panels: Mapping[str, Mapping[str, Mapping[int, float]]], ours: Sequence[str]) -> None:
    """A panel for each title, with a line for each name: executor time in s by days of history, on log scales."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(8, 4.6), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        others = dict.fromkeys(name for series in panels.values() for name in series if name not in ours)
        colours = dict(zip(others, _COLOURS, strict=True))
        for axis, (title, series) in zip(axes, panels.items(), strict=True):
            dashes = iter(("-", "--"))
            for name, values in series.items():
                own = name in ours
                style: Any = {"color": _OURS, "linestyle": next(dashes)} if own else {"color": colours[name]}
                style |= {"marker": "o", "label": name.replace("`", "")}
                axis.plot(list(values), list(values.values()), **style, **_UNCLIPPED)
            ticks = sorted({days for values in series.values() for days in values})
            axis.set_xscale("log")
            axis.set_xticks(ticks, [str(tick) for tick in ticks])
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter("{x:g}")
            axis.minorticks_off()
            axis.set_xlabel("days of history")
            axis.set_title(title, loc="left")
            axis.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.08))
        figure.supylabel("executor time of a daily run, s", fontsize="medium")
        _save(figure, path)


def days(path: Path, panels: Mapping[str, Mapping[str, Sequence[float]]], ours: Sequence[str]) -> None:
    """A panel for each title, with a line for each name: one value per day, from the first day."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(8, 3.6), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (title, series) in zip(axes, panels.items(), strict=True):
            for name, values in series.items():
                colour = _OURS if name in ours else _OTHERS
                axis.plot(range(1, len(values) + 1), values, color=colour, label=name.replace("`", ""), **_UNCLIPPED)
            axis.set_ylim(bottom=0)
            axis.set_xlabel("day")
            axis.set_title(title, loc="left")
            axis.legend(frameon=False, fontsize="small")
        _save(figure, path)
