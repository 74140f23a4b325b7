#!/usr/bin/env python3
"""Draws the results of measure.py as an SVG with Vega-Lite; needs the package vl-convert-python.

usage: plot.py RESULTS.json PICTURE.svg
"""

import json
import pathlib
import sys

import vl_convert

import table

WIDTH = 330
BLUE, LIGHT_BLUE, ORANGE, LIGHT_ORANGE, GREY = (
    "#1f6fb4", "#8fbfe6", "#e07b1a", "#f3bd85", "#8a8a8a")
RED = "#c8102e"


def attention_values(results):
    for row in table.rows(results):
        form, _, what = row.group.partition(" attention / ")
        if what != "gemm bound":
            continue
        size, threads, mask = (part.strip() for part in row.line.rsplit(", ", 2))
        mask = mask.removeprefix("mask: ")
        yield {"form": form, "size": size, "series": f"{threads}{'' if mask == 'none' else ', masked'}",
               "goal": row.goal, "low": row.low, "measured": row.measured, "high": row.high}


def attention_panel(results, form):
    values = [v for v in attention_values(results) if v["form"] == form]
    series = list(dict.fromkeys(v["series"] for v in values))
    colours = [BLUE, LIGHT_BLUE, ORANGE, LIGHT_ORANGE][:len(series)]
    # The peer on one thread, where there is one: libtorch's composed, PyTorch's fused attention.
    peer, column = ("libtorch", 1) if form == "composed" else ("PyTorch fused", -2)
    for line in table.peer_lines(results):
        if line[column] != "–" and any(v["size"] == line[0] for v in values):
            values.append({"size": line[0], "series": f"{peer}, 1 thread",
                           "measured": float(line[column])})
    if values[-1]["series"] not in series:
        series.append(values[-1]["series"])
        colours.append(GREY)
    y = {"field": "size", "type": "ordinal", "sort": None, "title": "B,Q,K,D,H",
         "axis": {"grid": True}}
    offset = {"field": "series", "sort": series}
    colour = {"field": "series", "type": "nominal", "sort": None, "title": None,
              "scale": {"domain": series, "range": colours},
              "legend": {"orient": "bottom", "columns": 2}}
    x = {"type": "quantitative", "scale": {"type": "log", "nice": False},
         "axis": {"values": [0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100],
                  "format": "~g"},
         "title": "time / gemm bound, log scale"}
    return {
        "title": f"{form} attention, forward + backward",
        "width": WIDTH, "height": {"step": 11},
        "data": {"values": values},
        "layer": [
            {"transform": [{"filter": "isValid(datum.goal)"}],
             "mark": {"type": "tick", "color": RED, "thickness": 2.5, "size": 11},
             "encoding": {"x": {**x, "field": "goal"}, "y": y, "yOffset": offset}},
            {"mark": {"type": "rule", "strokeWidth": 1.5},
             "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y,
                          "yOffset": offset, "color": colour}},
            {"mark": {"type": "point", "filled": True, "size": 42, "opacity": 1},
             "encoding": {"x": {**x, "field": "measured"}, "y": y, "yOffset": offset,
                          "color": colour}},
        ],
    }


def goal_panel(title, axis, rows):
    """Bars of measured / goal: what ends left of the line has met its goal."""
    values = [{"line": name, "ratio": max(row.measured, 1e-3) / row.goal,
               "verdict": "met" if row.met() else "missed"}
              for name, row in rows if row.measured is not None and row.goal > 0]
    y = {"field": "line", "type": "ordinal", "sort": None, "title": None,
         "axis": {"labelLimit": 340}}
    x = {"field": "ratio", "type": "quantitative", "title": axis,
         "scale": {"type": "log", "nice": False, "domainMin": 0.1},
         "axis": {"values": [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50], "format": "~g"}}
    return {
        "title": title, "width": WIDTH - 60, "height": {"step": 15},
        "data": {"values": values},
        "layer": [
            {"mark": {"type": "rule", "strokeWidth": 2},
             "encoding": {"y": y, "x": {**x}, "x2": {"datum": 0.1},
                          "color": {"field": "verdict", "type": "nominal", "title": None,
                                    "scale": {"domain": ["met", "missed"],
                                              "range": [BLUE, ORANGE]},
                                    "legend": {"orient": "bottom"}}}},
            {"mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
             "encoding": {"y": y, "x": x,
                          "color": {"field": "verdict", "type": "nominal"}}},
            {"mark": {"type": "rule", "color": RED, "strokeWidth": 2},
             "encoding": {"x": {"datum": 1}}},
        ],
    }


def picture(results):
    rows = table.rows(results)
    nodes = [(row.line, row) for row in rows if row.group.startswith("node")]
    families = [(f"{row.group.partition(' /')[0]}, {row.line.partition(',')[0]}", row)
                for row in rows if row.group.endswith("xtensor and libtorch")]
    others = [(f"a chain of {row.line}", row) for row in rows if row.group.startswith("chain")]
    others += [(f"{row.group}, {row.line}", row) for row in rows
               if row.group.endswith("attention / libtorch")]
    others += [(row.line, row) for row in rows if row.group in ("memory", "building", "notebook")]
    panels = [goal_panel("one node", "measured / goal, log scale", nodes),
              goal_panel("operations, the worst of each family", "measured / goal, log scale",
                         families),
              goal_panel("the rest", "measured / goal, log scale", others)]
    panels = [panel for panel in panels if panel["data"]["values"]]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "title": {"text": "Goals and measured", "subtitle":
                  "Points are medians, lines reach from the least to the largest ratio; "
                  "red marks are the goals: left of them they are met."},
        "vconcat": [
            {"hconcat": [attention_panel(results, form) for form in ("composed", "fused")],
             "resolve": {"scale": {"color": "independent"}}},
            {"hconcat": panels[:2]},
            {"hconcat": panels[2:]},
        ],
        "resolve": {"scale": {"color": "independent"}},
        "config": {"font": "sans-serif", "title": {"anchor": "start", "fontSize": 13},
                   "axis": {"labelFontSize": 10, "titleFontSize": 11, "gridOpacity": 0.5},
                   "view": {"stroke": "#cccccc"}, "padding": 12},
    }


def main():
    results = json.loads(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path(sys.argv[2]).write_text(vl_convert.vegalite_to_svg(picture(results)))


if __name__ == "__main__":
    main()
