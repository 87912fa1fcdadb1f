// Which machine for which size: the least time that bounds leave, and the least that was found.

const SIZES = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30].map((power) => 2 ** power);

/** Seconds that no algorithm can go below: the least over S of S alpha + (R/C) L beta. */
function leastTime(bound, size, alpha, rate) {
  let least = Infinity, steps = bound.steps;
  const low = value(bound.low);
  // A bound for more steps holds for fewer ones, too.
  const at = (s) => Math.max(low, ...bound.by_steps.filter(([t]) => t >= s).map(([, cost]) => value(cost)));
  for (const from of [steps, ...bound.by_steps.map(([s]) => s + 1)]) {
    if (from >= steps) least = Math.min(least, from * alpha + (at(from) * size) / rate);
  }
  return least;
}

/** Seconds of the fastest algorithm that was found; infinite where there is none. */
const foundTime = (bound, size, alpha, rate) =>
  bound.points.reduce((least, one) => Math.min(least, one.steps * alpha + (value(one.cost) * size) / rate), Infinity);

function sizesView() {
  const { machines } = data;
  const model = { alpha: data.alpha, bandwidth: data.bandwidth };
  const groupOf = (one) => `${counted(one.nodes, "node")}${one.rate === null ? "" : ", with units"}`;
  const groups = [...new Set(machines.map(groupOf))];
  const links = [...new Set(machines.map((one) => one.links))].sort((a, b) => a - b);
  let group = groups[0], collective = data.collectives[0], most = links.at(-1);

  function paint() {
    const own = machines.filter((one) => groupOf(one) === group && one.links <= most && one.bounds[collective]);
    const rateOf = (one) => one.rate ?? model.bandwidth;
    /** The names of those with the least of some times, which are equal but for rounding. */
    const best = (times) => {
      const least = Math.min(...times);
      const names = own.filter((_, i) => times[i] <= least * (1 + 1e-9)).map((one) => one.name);
      return [names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", "), least];
    };
    const searched = own.some((one) => one.bounds[collective].points.length);
    const rows = own.length ? SIZES.map((size) => {
      // What bounds leave is below any algorithm: a step takes the latency of the fastest link at least.
      const of = (taken, which) => own.map((one) => taken(one.bounds[collective], size, one.alphas?.[which] ?? model.alpha, rateOf(one)));
      const [low, lowTime] = best(of(leastTime, 0));
      if (!searched) return [bytes(size), low, seconds(lowTime)];
      const [found, foundIn] = best(of(foundTime, 1));
      return [bytes(size), low, seconds(lowTime), found, seconds(foundIn)];
    }) : [];
    const more = searched ? ["fastest found", ">in"] : [];
    at("sizes-table").replaceChildren(tabled(`${collective}, ${group}, at most ${counted(most, "link")}`, [">size of one node's data", "least by its bounds", ">at least", ...more], rows));
    const units = own.some((one) => one.rate === null) ? ", a link of one chunk per round as above" : ", each link as its machine says";
    const states = own.filter((one) => one.alphas).length;
    const stated = states === 0 ? "α is the same for all machines."
      : `${states === own.length ? "Latencies are as stated" : "Where a machine states latencies, they count instead of α"}: of the fastest link for bounds, of the slowest for what was found.`;
    at("sizes-told").textContent = `By S · α + (R/C) · L · β: no algorithm on any machine is faster than its bounds leave${units}. ${stated}`;
  }

  const number = (words, start, factor, set) => labelled(words, make("input", {
    type: "number", min: 0, step: "any", value: Number((start * factor).toPrecision(6)),
    oninput: (event) => { const given = Number(event.target.value); if (event.target.value !== "" && given >= 0) { set(given / factor); paint(); } },
  }));
  const select = (words, options, set) => labelled(words, make("select", { onchange: (event) => { set(event.target.value); paint(); } },
    ...options.map((one) => make("option", { value: one, selected: one === most }, one))));
  at("sizes-controls").replaceChildren(
    ...(data.collectives.length > 1 ? [select("collective", data.collectives, (given) => { collective = given; })] : []),
    ...(groups.length > 1 ? [select("machines with", groups, (given) => { group = given; })] : []),
    ...(links.length > 1 ? [select("links, at most", links, (given) => { most = Number(given); })] : []),
    number("α of a step, µs", model.alpha, 1e6, (given) => { model.alpha = given; }),
    ...(machines.some((one) => one.rate === null)
      ? [number("link of one chunk per round, GB/s", model.bandwidth, 1e-9, (given) => { if (given > 0) model.bandwidth = given; })] : []));
  paint();
}
