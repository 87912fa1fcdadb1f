// Time, bandwidth and speed-up over the message size, simulated or by the formula.

const SMALLEST = 10, LARGEST = 30;
const MOST_LISTED = 14;
const NAMES_BESIDE = 560;

function timesView(choose) {
  const { times, algorithms } = data;
  const model = { alpha: times.alpha, bandwidth: times.bandwidth };
  const state = { chosen: 0, show: times.rivals.some((one) => one.classic) ? "speed" : "time", simulated: Boolean(times.simulated), power: 20 };
  let kinds = 0;
  const series = [
    ...algorithms.map((one, number) => ({ name: named(one), forms: [[one.steps, value(one.cost)]], number, simulated: times.simulated?.entries[number] })),
    ...times.rivals.map((one, i) => ({ name: one.name.replaceAll("_", " "), forms: one.forms.map(([steps, cost]) => [steps, value(cost)]), classic: one.classic,
      kind: one.classic ? kinds++ : null, simulated: times.simulated?.rivals[i] })),
  ];
  const floors = times.simulated?.floors ?? [];
  const changed = () => model.alpha !== times.alpha || model.bandwidth !== times.bandwidth;
  const sizes = () => state.simulated ? times.simulated.sizes
    : Array.from({ length: (LARGEST - SMALLEST) * 4 + 1 }, (_, i) => 2 ** (SMALLEST + i / 4));

  /** Simulated seconds between the simulated sizes. */
  function between(seconds, size) {
    const known = times.simulated.sizes;
    const after = known.findIndex((other) => other >= size);
    if (after <= 0) return seconds[after < 0 ? known.length - 1 : 0];
    const share = Math.log(size / known[after - 1]) / Math.log(known[after] / known[after - 1]);
    return Math.exp(Math.log(seconds[after - 1]) * (1 - share) + Math.log(seconds[after]) * share);
  }

  /** Seconds for a message. */
  const taken = (one, size) => state.simulated ? between(one.simulated, size)
    : one.forms.reduce((least, [steps, cost]) => Math.min(least, steps * model.alpha + (cost * size) / (times.per_node * model.bandwidth)), Infinity);
  const bestOf = (some, size) => some.reduce((best, one) => (best && taken(best, size) <= taken(one, size) ? best : one), null);
  const ours = series.filter((one) => !one.classic);
  const classics = series.filter((one) => one.classic);
  const bounded = () => state.simulated && floors.length > 0 && floors.every((one) => one > 0);
  const shownAs = {
    time: { words: "time", of: (time) => time, text: seconds, logarithmic: true },
    algbw: { words: "algorithm bandwidth", of: (time, size) => size / time, text: rate },
    speed: { words: "speed-up over the best classic", of: (time, size) => taken(bestOf(classics, size), size) / time, text: (number) => `${digits(number)}x` },
  };
  const how = () => (state.simulated ? "simulated" : "formula");

  function paint() {
    const { words, of, text, logarithmic } = shownAs[state.show];
    const all = sizes();
    const area = chart(at("times-chart"), `${words} over the message size, ${how()}`);
    const beside = area.width >= NAMES_BESIDE && classics.length > 0;
    if (beside) area.right -= 40 + 6.5 * Math.max(...classics.map((one) => one.name.length));
    const values = series.map((one) => all.map((size) => of(taken(one, size), size)));
    const bound = bounded() ? all.map((size, i) => of(floors[i], size)) : [];
    const flat = [...values.flat(), ...(logarithmic ? bound : [])].filter((number) => Number.isFinite(number) && number > 0);
    if (!flat.length) {
      at("times-chart").replaceChildren(make("p", { class: "note" }, "No time passes: nothing has to be sent."));
      return;
    }
    const [lowY, highY] = logarithmic ? [Math.min(...flat) * 0.8, Math.max(...flat) * 1.25] : [0, Math.max(...flat) * 1.08];
    const yTicks = ticks(lowY, highY, 6, logarithmic);
    area.left = besideNumbers(yTicks.map(text));
    const { svg, left, right, top, bottom } = area;
    const x = scaled(all[0], all.at(-1), left, right, true);
    const y = scaled(lowY, highY, bottom, top, logarithmic);
    const inside = (number) => y(Math.min(highY, Math.max(lowY, number)));
    const powers = [];
    const [a, b] = [Math.ceil(Math.log2(all[0])), Math.floor(Math.log2(all.at(-1)))];
    const stride = Math.max(1, Math.ceil((b - a) / Math.max(2, (right - left) / 74)));
    for (let power = a; power <= b; power += stride) powers.push(2 ** power);
    axes(area, x, powers, `message: ${times.message}`, y, yTicks, `${words} (${how()})`, bytes, text);
    const line = (kind, heights, ...children) => draw("path", { class: `curve ${kind}`, d: path(all.map((size, j) => [x(size), heights[j]])) }, ...children);
    series.forEach((one, i) => {
      const drawn = line(one.classic ? "classic" : one.number === state.chosen ? "chosen" : "", values[i].map(inside), draw("title", {}, one.name));
      svg.append(one.classic ? styled(drawn, one.kind) : drawn);
    });
    if (bound.length) svg.append(line("floor", bound.map(inside), draw("title", {}, "proved bound")));
    const best = (size) => bestOf(ours, size);
    svg.append(line("best", all.map((size) => inside(of(taken(best(size), size), size)))));
    if (beside) {
      const ends = series.flatMap((one, i) => (one.classic ? [[one, inside(values[i].at(-1))]] : []));
      apart(ends.map(([, height]) => height), 14, top, bottom).forEach((height, i) => {
        const [one, end] = ends[i];
        svg.append(styled(draw("path", { class: "curve classic", d: path([[right, end], [right + 8, height], [right + 24, height]]) }), one.kind),
          draw("text", { x: right + 28, y: height + 4 }, one.name));
      });
    }
    const size = Math.min(all.at(-1), Math.max(all[0], 2 ** state.power));
    svg.append(draw("line", { class: "cursor", x1: x(size), x2: x(size), y1: top, y2: bottom }));
    svg.append(draw("circle", { class: "dot", cx: x(size), cy: inside(of(taken(best(size), size), size)), r: 4 }));
    svg.addEventListener("pointerdown", (event) => {
      const box = svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) / box.width * area.width - left) / (right - left);
      state.power = Math.round(Math.log2(all[0]) + share * Math.log2(all.at(-1) / all[0]));
      state.power = Math.max(a, Math.min(b, state.power));
      slider.value = state.power;
      paint();
    });
    report(size);
  }

  /** The table for a size, and the source of its times. */
  function report(size) {
    const ranked = [...series].sort((one, other) => taken(one, size) - taken(other, size)).slice(0, MOST_LISTED);
    const floor = bounded() ? between(floors, size) : null;
    sizeWords.textContent = bytes(size);
    slider.setAttribute("aria-valuetext", bytes(size));
    const columns = ["algorithm", `>time, ${how()}`, ">algbw", ...(classics.length ? [">speed-up"] : []), ...(floor ? [">gap"] : [])];
    const kind = state.simulated ? "Simulated times" : "Times by the formula";
    at("times-table").replaceChildren(tabled(`${kind} of a message of ${bytes(size)} (${times.message}), the fastest first${classics.length ? "; speed-up over the best classic" : ""}${floor ? "; gap to the proved bound, 2x: twice the bound" : ""}`, columns, ranked.map((one) => [
      one.number === undefined ? make("span", { class: one.classic ? "rival" : null }, one.name) : make("button", { type: "button", class: "choose", onclick: () => choose(one.number) }, one.name),
      seconds(taken(one, size)),
      rate(size / taken(one, size)),
      ...(classics.length ? [`${digits(shownAs.speed.of(taken(one, size), size))}x`] : []),
      ...(floor ? [gapOf(taken(one, size) / floor)] : []),
    ])));
    const sources = changed() ? "as edited here" : `α ${times.alpha_from}, β ${times.beta_from}`;
    at("times-words").textContent = state.simulated
      ? `Simulated: a send leaves when its data is there and its lane is free (${[sources, times.runtime].filter(Boolean).join(", ")}). Editing α or β shows the formula instead.`
      : `Formula: S · α + (R/C) · L · β with α = ${seconds(model.alpha)} and ${rate(model.bandwidth)} (${sources}), L = ${times.per_node === 1 ? "the message" : `message / ${digits(times.per_node)}`}.`
        + (times.simulated && changed() ? " Simulated restores the values of this page." : "");
  }

  const show = (simulated) => {
    state.simulated = simulated;
    if (simulated && changed()) {
      Object.assign(model, { alpha: times.alpha, bandwidth: times.bandwidth });
      inputs[0].querySelector("input").value = Number((model.alpha * 1e6).toPrecision(6));
      inputs[1].querySelector("input").value = Number((model.bandwidth / 1e9).toPrecision(6));
    }
    source?.press(simulated ? "simulated" : "formula");
    paint();
  };
  const modes = [...(classics.length ? [["speed", "Speed-up"]] : []), ["time", "Time"], ["algbw", "Bandwidth"]];
  const source = times.simulated ? choices("Source of the times", [["simulated", "Simulated"], ["formula", "Formula"]], "simulated", (key) => show(key === "simulated")) : null;
  const inputs = [
    numberInput("α of a step, µs", model.alpha, 1e6, (given) => { model.alpha = given; show(false); }),
    numberInput("link of one chunk per round, GB/s", model.bandwidth, 1e-9, (given) => { if (given > 0) { model.bandwidth = given; show(false); } }),
  ];
  at("times-controls").replaceChildren(
    choices("Quantity", modes, state.show, (key) => { state.show = key; paint(); }), ...(source ? [source] : []), ...inputs);
  const sizeWords = make("span", { class: "value" });
  const slider = make("input", { type: "range", min: SMALLEST, max: LARGEST, step: 1, value: state.power, "aria-label": "Message size",
    oninput: () => { state.power = Number(slider.value); paint(); } });
  at("times-size").replaceChildren(make("label", { class: "wide" }, make("span", {}, "Message: ", sizeWords), slider));
  const sample = (kind) => draw("svg", { width: 30, height: 10, viewBox: "0 0 30 10", "aria-hidden": "true" }, draw("path", { class: `curve ${kind}`, d: "M0 5H30" }));
  const classicSample = (one) => { const found = sample("classic"); styled(found.firstChild, one.kind); return found; };
  at("times-legend").replaceChildren(
    make("span", {}, sample("best"), "the fastest of these at each size"),
    make("span", {}, sample("chosen"), "the chosen point"),
    ...(ours.length > 2 ? [make("span", {}, sample(""), "other points")] : []),
    ...(floors.length ? [make("span", {}, sample("floor"), "proved bound (simulated)")] : []),
    ...classics.map((one) => make("span", {}, classicSample(one), one.name)));
  redrawn(at("times-chart"), paint);
  return (chosen) => { state.chosen = chosen; paint(); };
}
