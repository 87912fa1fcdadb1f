// The machines: bounds over costs, and the bounds and points of the chosen machine.

const MOST_NAMES = 12;
const COSTS = [["links", "Links"], ["ports", "Ports"], ["bandwidth", "Bandwidth"], ["nodes", "Nodes"]];
const SHOWN_MESSAGE = 2 ** 20;

function machinesView(choose) {
  const { machines, collectives } = data;
  // R/C is over the data of one node: only times of a message compare machines of different P.
  const mixed = machines.some((one) => one.nodes !== machines[0].nodes);
  const state = { collective: collectives[0], cost: "links", height: mixed ? "time" : "cost", chosen: 0 };
  const place = at("machines-chart");

  function paint() {
    const shown = machines.map((one, number) => ({ ...one, number, proved: one.bounds[state.collective] })).filter((one) => one.proved);
    const { collective } = state;
    const words = COSTS.find(([key]) => key === state.cost)[1].toLowerCase();
    const timed = state.height === "time";
    const what = timed ? `time of ${bytes(SHOWN_MESSAGE)} (formula)` : "R/C (bandwidth cost)";
    const area = chart(place, `${what} of ${collective} over ${words}: ${counted(shown.length, "machine")}`);
    if (!shown.length) {
      place.replaceChildren(make("p", { class: "note" }, `No bound of ${collective} is proved.`));
      return;
    }
    const costOf = (one) => value(String(one[state.cost]));
    const lowOf = (one) => (timed ? timeOf(leastTime, one, collective, SHOWN_MESSAGE) : value(one.proved.low));
    const reached = (one) => (timed ? timeOf(foundTime, one, collective, SHOWN_MESSAGE)
      : one.proved.points.reduce((least, point) => Math.min(least, value(point.cost)), Infinity));
    const costs = shown.map(costOf);
    const heights = shown.flatMap((one) => [lowOf(one), reached(one)]).filter(Number.isFinite);
    const range = (values) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const logarithmic = low > 0 && high >= 20 * low;
      return logarithmic ? [low * 0.8, high * 1.3, true] : [Math.max(0, low - 0.1 * (high - low || low || 1)), high + 0.15 * (high - low || high || 1), false];
    };
    const [lowX, highX, logX] = range(costs);
    const [lowY, highY, logY] = range(heights);
    const yTicks = ticks(lowY, highY, 6, logY), yText = timed ? seconds : digits;
    area.left = besideNumbers(yTicks.map(yText));
    const { svg, left, right, top, bottom } = area;
    const x = scaled(lowX, highX, left, right, logX);
    const y = scaled(lowY, highY, bottom, top, logY);
    axes(area, x, ticks(lowX, highX, Math.max(3, (right - left) / 70), logX), words, y, yTicks, what, String, yText);
    const labels = labelsOf(area), wanted = [];
    // Machines behind others first, so that the rest lies over them.
    const order = [...shown].sort((a, b) => (a.behind === null) - (b.behind === null));
    for (const one of order) {
      const [cx, cy] = [x(costOf(one)), y(lowOf(one))];
      const front = one.behind === null, chosen = one.number === state.chosen;
      const words = `${one.name}: ${collective} S at least ${one.proved.steps}, R/C at least ${short(one.proved.low)}`;
      const mark = draw("g", {
        class: `machine${front ? " front" : ""}${chosen ? " chosen" : ""}`, tabindex: 0, role: "button", "aria-pressed": String(chosen),
        "data-number": one.number, "aria-label": words, onclick: () => choose(one.number),
        onkeydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          choose(one.number);
          place.querySelector(".machine.chosen")?.focus();
        },
      }, draw("title", {}, words), draw("circle", { class: "halo", cx, cy, r: 12 }), draw("line", { class: "low", x1: cx - 8, x2: cx + 8, y1: cy, y2: cy }));
      const best = reached(one);
      labels.block(cx, cy, 4);
      if (Number.isFinite(best)) {
        mark.append(draw("circle", { class: "reached", cx, cy: y(best), r: 4.5 }));
        labels.block(cx, y(best), 4.5);
      }
      if (chosen || front) wanted.push([chosen, one.name, cx, cy, mark]);
      svg.append(mark);
    }
    wanted.sort(([a], [b]) => b - a);
    for (const [chosen, name, cx, cy, mark] of wanted.slice(0, MOST_NAMES)) labels.put(name, cx, cy, chosen ? "strong" : null, mark);
  }

  const legend = (kind, inside, words) => make("span", {}, draw("svg", { width: 22, height: 14, viewBox: "0 0 22 14", "aria-hidden": "true" },
    draw("g", { class: kind }, inside)), words);
  const line = () => draw("line", { class: "low", x1: 3, x2: 19, y1: 7, y2: 7 });
  const searched = machines.some((one) => Object.values(one.bounds).some((bound) => bound.points.length));
  at("machines-legend").replaceChildren(
    legend("machine front", line(), "proved bound of a machine behind no other"),
    ...(machines.some((one) => one.behind !== null) ? [legend("machine", line(), "the same of a machine behind another one")] : []),
    ...(searched ? [legend("machine", draw("circle", { class: "reached", cx: 11, cy: 7, r: 4.5 }), "the best algorithm found")] : []));
  at("machines-controls").replaceChildren(
    ...(collectives.length > 1 ? [choices("Collective", collectives.map((one) => [one, one]), state.collective, (key) => { state.collective = key; choose(state.chosen); })] : []),
    choices("Height", [["cost", "R/C"], ["time", `Time of ${bytes(SHOWN_MESSAGE)}`]], state.height, (key) => { state.height = key; paint(); }),
    choices("Cost", COSTS.slice(0, mixed ? 4 : 3), state.cost, (key) => { state.cost = key; paint(); }));
  redrawn(place, paint);
  return { select: (number) => { state.chosen = number; paint(); return state.collective; }, paint };
}

/** The bounds and points of a machine, as the page about a frontier draws them. */
function chosenView(number, collective) {
  const one = data.machines[number];
  const proved = one.bounds[collective];
  at("chosen-name").textContent = one.name;
  const place = make("div", { class: "chart" });
  at("chosen-place").replaceChildren(place);
  if (!proved) {
    at("chosen-words").textContent = `No bound of ${collective} is proved there.`;
    at("chosen-legend").replaceChildren();
    return;
  }
  const behind = one.behind === null ? "" : ` It is behind ${data.machines[one.behind].name}.`;
  const points = proved.points.length ? ` ${counted(proved.points.length, "algorithm")} found and verified.` : "";
  at("chosen-words").textContent = `${collective}: S at least ${proved.steps}, R/C at least ${short(proved.low)}.${points}${behind}`;
  const frontier = { bounds: proved.by_steps, least_steps: proved.steps, least_cost: proved.low, families: [] };
  const select = frontierChart(place, at("chosen-legend"), (point) => select(point), { frontier, algorithms: proved.points });
}

function start() {
  const rows = [...document.querySelectorAll("tr[data-machine]")];
  for (const table of document.querySelectorAll("#machines table, #behind table, #proved table")) sortable(table);
  const drawn = data.machines.some((one) => Object.keys(one.bounds).length);
  let view = null;
  const choose = (number) => {
    for (const row of rows) row.classList.toggle("chosen", Number(row.dataset.machine) === number);
    if (view) chosenView(number, view.select(number));
  };
  for (const row of rows) row.addEventListener("click", () => choose(Number(row.dataset.machine)));
  if (drawn) {
    view = machinesView(choose);
    sizesView(view.paint);
  }
  choose(Math.max(0, data.machines.findIndex((one) => one.behind === null)));
  markWide();
  document.documentElement.dataset.ready = "yes";
}

try {
  start();
} catch (error) {
  at("trouble").hidden = false;
  at("trouble").textContent = `The pictures cannot be drawn (${error.message}); the tables and facts are complete.`;
  console.error(error);
}
