// The frontier: R/C over S, with points, proved bounds and the gap between them.

const MOST_LABELS = 14;

function frontierChart(place, legend, choose, { frontier, algorithms } = data) {
  const members = frontier.families.flatMap((one) => one.members.map(([steps, cost]) => ({ steps, cost: value(cost) })));
  const points = algorithms.map((one, number) => ({ ...one, number, at: value(one.cost) }));
  const bounds = frontier.bounds.map(([steps, bound]) => [steps, value(bound)]);
  const least = value(frontier.least_cost);
  const known = [...points.map((one) => one.steps), ...bounds.map(([steps]) => steps)];
  let last = Math.max(1, frontier.least_steps, ...known);
  if (members.length) last = Math.max(last, members[0].steps + 12);
  const shown = members.filter((one) => one.steps <= last);
  const first = Math.max(0, Math.min(frontier.least_steps, ...known));
  const costs = [...points.map((one) => one.at), ...shown.map((one) => one.cost), ...bounds.map(([, bound]) => bound), least];
  const highest = Math.max(...costs) || 1;
  const positive = costs.filter((one) => one > 0);
  const lowest = Math.min(...positive, highest);
  let chosen = 0;

  /** The least cost of (steps, cost) rows with at most `steps` steps. */
  const within = (rows, steps) => rows.reduce((best, [s, cost]) => (s <= steps ? Math.min(best, cost) : best), Infinity);
  const found = [...points.map((one) => [one.steps, one.at]), ...shown.map((one) => [one.steps, one.cost])];
  const proved = (steps) => {
    if (steps < frontier.least_steps) return Infinity;
    const exact = bounds.find(([s]) => s === steps);
    if (exact) return exact[1];
    // A bound for more steps holds for fewer ones, too.
    return Math.max(least, ...bounds.filter(([s]) => s > steps).map(([, bound]) => bound));
  };

  function paint() {
    const area = chart(place, `R/C over S: ${counted(points.length, "point")}`);
    const { svg, left, right, top, bottom } = area;
    const logX = last / Math.max(1, first) > 24;
    const logY = highest / lowest > 8;
    const [lowX, highX] = logX ? [Math.max(0.7, first * 0.8), last * 1.2] : [Math.max(-0.5, first - 1), last + 1];
    const [lowY, highY] = logY ? [lowest * 0.7, highest * 1.3] : [0, highest * 1.16];
    const x = scaled(lowX, highX, left, right, logX);
    const y = scaled(lowY, highY, bottom, top, logY);
    const labels = labelsOf(area);
    const clip = (cost) => y(Math.min(highY, Math.max(lowY, cost)));
    svg.append(draw("defs", {}, draw("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      draw("line", { class: "hatching", x1: 0, x2: 0, y1: 0, y2: 7 }))));
    const back = draw("g");
    svg.append(back);
    const whole = ticks(lowX, highX, Math.max(3, (right - left) / 60), logX).filter((tick) => Number.isInteger(tick) && tick >= first);
    axes(area, x, whole, "steps S (latency cost)", y, ticks(lowY, highY, 6, logY), "R/C (bandwidth cost)");

    // Between two numbers of steps at which something changes both stairs are level.
    const edges = [...new Set([frontier.least_steps, ...found.map(([s]) => s), ...bounds.map(([s]) => s), ...bounds.map(([s]) => s + 1)])]
      .filter((s) => s > lowX && s < highX).sort((a, b) => a - b);
    const spans = [lowX, ...edges].map((from, i) => [from, edges[i] ?? highX]);
    const boundLine = [], foundLine = [];
    const middle = (clip(proved(last)) + bottom) / 2;
    for (const [from, to] of spans) {
      const steps = Math.ceil(from);
      const [below, above] = [proved(steps), within(found, steps)];
      const [a, b] = [x(from), x(to)];
      const rect = (kind, up, down) => back.append(draw("rect", { class: kind, x: a, width: b - a, y: up, height: Math.max(0, down - up) }));
      rect("impossible", below === Infinity ? top : clip(below), bottom);
      if (below !== Infinity && above > below) rect("gap", above === Infinity ? top : clip(above), clip(below));
      if (below !== Infinity) boundLine.push([a, clip(below)], [b, clip(below)]);
      else boundLine.push([b, top]);
      if (above !== Infinity) foundLine.push([a, clip(above)], [b, clip(above)]);
    }
    if (bottom - middle > 26 && least > 0) {
      svg.append(draw("text", { class: "ruled-out", x: (left + right) / 2, y: middle, "text-anchor": "middle" }, "proved: no algorithm is here"));
      labels.text("proved: no algorithm is here", (left + right) / 2, middle, "middle");
    }
    svg.append(draw("path", { class: "bound", d: path(boundLine) }));
    if (foundLine.length) svg.append(draw("path", { class: "found", d: path(foundLine) }));
    for (const one of shown) svg.append(draw("circle", { class: "member", cx: x(one.steps), cy: y(one.cost), r: 2.6 }));

    const r = points.length > 40 ? 3.5 : 6;
    const radius = (one) => (one.state === "simple" ? r / 2 : r);
    for (const one of points) labels.block(x(one.steps), y(one.at), r);
    const layer = draw("g", { role: "listbox", "aria-label": "Points" });
    svg.append(layer);
    for (const one of points) {
      const [cx, cy] = [x(one.steps), y(one.at)];
      const mark = draw("g", {
        class: `point ${one.state}${one.number === chosen ? " chosen" : ""}`,
        "data-number": one.number,
        role: "option",
        tabindex: one.number === chosen ? 0 : -1,
        "aria-selected": String(one.number === chosen),
        "aria-label": `${named(one)}, optimal for: ${one.scope}`,
        onclick: () => choose(one.number),
        onkeydown: (event) => {
          const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
          const to = event.key === "Home" ? 0 : event.key === "End" ? points.length - 1 : one.number + (move ?? 0);
          if (to !== one.number || event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            choose(Math.max(0, Math.min(points.length - 1, to)));
            place.querySelector(".point.chosen")?.focus();
          }
        },
      }, draw("title", {}, `${named(one)} · optimal for: ${one.scope}`),
        draw("circle", { class: "halo", cx, cy, r: 13 }), draw("circle", { class: "mark", cx, cy, r: radius(one) }),
        one.state === "limited" ? draw("path", { class: "half", d: `M${cx} ${cy - r}A${r} ${r} 0 0 0 ${cx} ${cy + r}Z` }) : null);
      layer.append(mark);
    }
    // The chosen point is labelled first, then the ends, which are the best of all.
    const order = points.map((_, i) => i).sort((a, b) => (b === chosen) - (a === chosen) || Math.abs(b - (points.length - 1) / 2) - Math.abs(a - (points.length - 1) / 2));
    for (const i of order.slice(0, MOST_LABELS)) labels.put(digits(points[i].at), x(points[i].steps), y(points[i].at), "strong", layer.children[i]);
  }

  const sample = (...inside) => draw("svg", { width: 22, height: 14, viewBox: "0 0 22 14", "aria-hidden": "true", class: "chart-sample" }, ...inside);
  const states = new Set(points.map((one) => one.state));
  const dot = (state, inside) => sample(draw("g", { class: `point ${state}` }, draw("circle", { class: "mark", cx: 11, cy: 7, r: state === "simple" ? 2.5 : 5 }), inside));
  const entries = [
    states.has("optimal") && [dot("optimal", null), "found, optimal for every C"],
    states.has("limited") && [dot("limited", draw("path", { class: "half", d: "M11 2A5 5 0 0 0 11 12Z" })), "optimal within a limit"],
    states.has("open") && [dot("open", null), "verified, not proved optimal"],
    states.has("simple") && [dot("simple", null), "simple: few chunks or messages, near the best"],
    shown.length && [sample(draw("circle", { class: "member", cx: 11, cy: 7, r: 3 })), "members of a pipeline, which has one for every m"],
    [sample(draw("path", { class: "bound", d: "M0 7H22" })), "proved bound"],
    [sample(draw("rect", { class: "gap", width: 22, height: 14 })), "open: neither found nor excluded"],
  ];
  legend.replaceChildren(...entries.filter(Boolean).map(([mark, words]) => make("span", {}, mark, words)));
  redrawn(place, paint);
  return (number) => { chosen = number; paint(); };
}
