// Time, bandwidth and speed-up over the size, by the formula or out of the simulator.

const SMALLEST = 10, LARGEST = 30;
const MOST_LISTED = 14;

function timesView(choose) {
  const { times, algorithms } = data;
  const model = { alpha: times.alpha, bandwidth: times.bandwidth };
  const state = { chosen: 0, show: times.rivals.some((one) => one.classic) ? "speed" : "time", by: times.simulated ? "simulator" : "formula", power: 20 };
  const series = [
    ...algorithms.map((one, number) => ({ name: named(one), forms: [[one.steps, value(one.cost)]], number, simulated: times.simulated?.entries[number] })),
    ...times.rivals.map((one, i) => ({ name: one.name.replaceAll("_", " "), forms: one.forms.map(([steps, cost]) => [steps, value(cost)]), classic: one.classic, simulated: times.simulated?.rivals[i] })),
  ];
  const changed = () => model.alpha !== times.alpha || model.bandwidth !== times.bandwidth;
  const simulating = () => state.by === "simulator" && times.simulated && !changed();
  const sizes = () => simulating() ? times.simulated.sizes
    : Array.from({ length: (LARGEST - SMALLEST) * 4 + 1 }, (_, i) => 2 ** (SMALLEST + i / 4));

  /** Seconds for a size of one node's data. */
  function taken(one, size) {
    if (!simulating()) {
      return one.forms.reduce((least, [steps, cost]) => Math.min(least, steps * model.alpha + (cost * size) / model.bandwidth), Infinity);
    }
    const known = times.simulated.sizes;
    const after = known.findIndex((other) => other >= size);
    if (after <= 0) return one.simulated[after < 0 ? known.length - 1 : 0];
    const share = Math.log(size / known[after - 1]) / Math.log(known[after] / known[after - 1]);
    return Math.exp(Math.log(one.simulated[after - 1]) * (1 - share) + Math.log(one.simulated[after]) * share);
  }
  const bestOf = (some, size) => some.reduce((best, one) => (best && taken(best, size) <= taken(one, size) ? best : one), null);
  const ours = series.filter((one) => !one.classic);
  const classics = series.filter((one) => one.classic);
  const speedUp = (one, size) => taken(bestOf(classics, size), size) / taken(one, size);
  const shownAs = {
    time: { words: "time", of: taken, text: seconds, logarithmic: true },
    algbw: { words: "algorithm bandwidth", of: (one, size) => (times.per_node * size) / taken(one, size), text: rate },
    speed: { words: "speed-up over the best classic", of: speedUp, text: (number) => `${digits(number)}×` },
  };

  function paint() {
    const { words, of, text, logarithmic } = shownAs[state.show];
    const all = sizes();
    const area = chart(at("times-chart"), `${words} over the size`);
    area.left = 70;
    const { svg, left, right, top, bottom } = area;
    const values = series.map((one) => all.map((size) => of(one, size)));
    const flat = values.flat().filter((number) => Number.isFinite(number) && number > 0);
    if (!flat.length) {
      at("times-chart").replaceChildren(make("p", { class: "note" }, "It takes no time: nothing has to be sent."));
      return;
    }
    const [lowY, highY] = logarithmic ? [Math.min(...flat) * 0.8, Math.max(...flat) * 1.25] : [0, Math.max(...flat) * 1.08];
    const x = scaled(all[0], all.at(-1), left, right, true);
    const y = scaled(lowY, highY, bottom, top, logarithmic);
    const powers = [];
    const [a, b] = [Math.ceil(Math.log2(all[0])), Math.floor(Math.log2(all.at(-1)))];
    const stride = Math.max(1, Math.ceil((b - a) / Math.max(2, (right - left) / 74)));
    for (let power = a; power <= b; power += stride) powers.push(2 ** power);
    axes(area, x, powers, "size of one node's data", y, ticks(lowY, highY, 6, logarithmic), words, bytes, text);
    series.forEach((one, i) => svg.append(draw("path", {
      class: `curve${one.classic ? " classic" : ""}${one.number === state.chosen ? " chosen" : ""}`,
      d: path(all.map((size, j) => [x(size), y(Math.max(lowY, values[i][j]))])),
    }, draw("title", {}, one.name))));
    const best = (size) => bestOf(ours, size);
    svg.append(draw("path", { class: "curve best", d: path(all.map((size) => [x(size), y(Math.max(lowY, of(best(size), size)))])) }));
    const size = Math.min(all.at(-1), Math.max(all[0], 2 ** state.power));
    svg.append(draw("line", { class: "cursor", x1: x(size), x2: x(size), y1: top, y2: bottom }));
    svg.append(draw("circle", { class: "dot", cx: x(size), cy: y(of(best(size), size)), r: 4 }));
    svg.addEventListener("pointerdown", (event) => {
      const box = svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) / box.width * area.width - left) / (right - left);
      state.power = Math.round(Math.log2(all[0]) + share * Math.log2(all.at(-1) / all[0]));
      state.power = Math.max(a, Math.min(b, state.power));
      slider.value = state.power;
      paint();
    });
    tell(size);
  }

  function tell(size) {
    const ranked = [...series].sort((one, other) => taken(one, size) - taken(other, size)).slice(0, MOST_LISTED);
    sizeWords.textContent = bytes(size);
    slider.setAttribute("aria-valuetext", bytes(size));
    const columns = ["algorithm", ">time", ">algbw", ...(classics.length ? [">over the best classic"] : [])];
    at("times-table").replaceChildren(tabled(`At ${bytes(size)} of one node's data, the fastest first`, columns, ranked.map((one) => [
      one.number === undefined ? make("span", { class: one.classic ? "rival" : null }, one.name) : make("button", { type: "button", class: "choose", onclick: () => choose(one.number) }, one.name),
      seconds(taken(one, size)),
      rate((times.per_node * size) / taken(one, size)),
      ...(classics.length ? [`${digits(speedUp(one, size))}×`] : []),
    ])));
    const how = simulating() ? times.simulated.words : "S · α + (R/C) · L · β";
    const sources = changed() ? "α and β as you set them" : `α ${times.alpha_from}, β ${times.beta_from}`;
    at("times-told").replaceChildren(`By ${how}; ${sources}. `,
      times.message ? `Algorithm bandwidth is ${times.message} over the time. ` : "",
      changed() && times.simulated ? "Simulated times are for the α and β the page was written with. " : "");
  }

  const number = (words, start, factor, set) => labelled(words, make("input", {
    type: "number", min: 0, step: "any", value: Number((start * factor).toPrecision(6)),
    oninput: (event) => { const given = Number(event.target.value); if (event.target.value !== "" && given >= 0) { set(given / factor); paint(); } },
  }));
  const modes = [...(classics.length ? [["speed", "Speed-up"]] : []), ["time", "Time"], ["algbw", "Bandwidth"]];
  at("times-controls").replaceChildren(
    choices("What is shown", modes, state.show, (key) => { state.show = key; paint(); }),
    ...(times.simulated ? [choices("When a send leaves", [["simulator", "Asynchronous"], ["formula", "Lockstep"]], state.by, (key) => { state.by = key; paint(); })] : []),
    number("α of a step, µs", model.alpha, 1e6, (given) => { model.alpha = given; }),
    number("link of one chunk per round, GB/s", model.bandwidth, 1e-9, (given) => { if (given > 0) model.bandwidth = given; }));
  const sizeWords = make("span", { class: "value" });
  const slider = make("input", { type: "range", min: SMALLEST, max: LARGEST, step: 1, value: state.power, "aria-label": "Size of one node's data",
    oninput: () => { state.power = Number(slider.value); paint(); } });
  at("times-size").replaceChildren(make("label", { class: "wide" }, make("span", {}, "Size of one node's data: ", sizeWords), slider));
  const sample = (kind) => draw("svg", { width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": "true" }, draw("path", { class: `curve ${kind}`, d: "M0 5H26" }));
  at("times-legend").replaceChildren(
    make("span", {}, sample("best"), "the fastest of these at each size"),
    make("span", {}, sample("chosen"), "the chosen point"),
    ...(ours.length > 2 ? [make("span", {}, sample(""), "other points")] : []),
    ...(classics.length ? [make("span", {}, sample("classic"), `classics: ${classics.map((one) => one.name).join(", ")}`)] : []));
  redrawn(at("times-chart"), paint);
  return (chosen) => { state.chosen = chosen; paint(); };
}
