// Times of machines for messages: the least that bounds allow, and the least of the algorithms found.

const SIZES = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30].map((power) => 2 ** power);
const COMPARED = [2 ** 12, 2 ** 20, 2 ** 28];
const model = { alpha: data.alpha, bandwidth: data.bandwidth };

/** A lower bound on the seconds of every algorithm: the least over S of S alpha + (R/C) L beta. */
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

/** Seconds of the fastest algorithm found; infinite without one. */
const foundTime = (bound, size, alpha, rate) =>
  bound.points.reduce((least, one) => Math.min(least, one.steps * alpha + (value(one.cost) * size) / rate), Infinity);

/** The same of a machine for a message: a step takes the latency of the fastest link at least, of the slowest at most. */
const timeOf = (of, one, collective, message) => of(one.bounds[collective], message / one.messages[collective][0],
  one.alphas?.[of === leastTime ? 0 : 1] ?? model.alpha, one.rate ?? model.bandwidth);

function sizesView(changed) {
  const { machines } = data;
  const groupOf = (one) => `${counted(one.nodes, "node")}${one.rate === null ? "" : ", with units"}`;
  const groups = [...new Set(machines.map(groupOf))];
  if (groups.length > 1) groups.unshift("all");
  const links = [...new Set(machines.map((one) => one.links))].sort((a, b) => a - b);
  let group = groups[0], collective = data.collectives[0], most = links.at(-1);

  function paint() {
    const own = machines.filter((one) => (group === "all" || groupOf(one) === group) && one.links <= most && one.bounds[collective]);
    /** The names of the machines with the least of some times, which are equal but for rounding. */
    const best = (times) => {
      const least = Math.min(...times);
      const names = own.filter((_, i) => times[i] <= least * (1 + 1e-9)).map((one) => one.name);
      return [names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", "), least];
    };
    const searched = own.some((one) => one.bounds[collective].points.length);
    const rows = own.length ? SIZES.map((size) => {
      const of = (taken) => own.map((one) => timeOf(taken, one, collective, size));
      const [low, lowTime] = best(of(leastTime));
      if (!searched) return [bytes(size), low, seconds(lowTime)];
      const [found, foundIn] = best(of(foundTime));
      return [bytes(size), low, seconds(lowTime), found, seconds(foundIn)];
    }) : [];
    const more = searched ? ["fastest found", ">in"] : [];
    const chosen = `${collective}, ${group === "all" ? "all machines" : group}, at most ${counted(most, "link")}`;
    // With as many nodes on each machine one is the fastest; else the smallest would be.
    if (own.some((one) => one.nodes !== own[0].nodes)) at("sizes-table").replaceChildren();
    else at("sizes-table").replaceChildren(tabled(`The fastest machine: ${chosen}`, [">message", "least by its bounds", ">at least", ...more], rows));
    const micro = (of) => (one) => COMPARED.map((size) => timeOf(of, one, collective, size)).map((time) => (Number.isFinite(time) ? digits(1e6 * time) : ""));
    const busOf = (one) => {
      const [, factor] = one.messages[collective];
      return factor === null ? "" : digits(factor * COMPARED.at(-1) / timeOf(leastTime, one, collective, COMPARED.at(-1)) / 1e9);
    };
    const sorted = own.map((one) => [timeOf(leastTime, one, collective, COMPARED[1]), one]).sort(([a], [b]) => a - b);
    const columns = ["machine", ">nodes", ">links", ...COMPARED.map((size) => `>${bytes(size)}, µs ≥`), ">busbw, GB/s ≤", ...(searched ? COMPARED.map((size) => `>${bytes(size)}, µs found`) : [])];
    folded(at("compared-table"), `Machines side by side: ${chosen}; busbw of ${bytes(COMPARED.at(-1))}`, columns, sorted.map(([, one]) =>
      [one.name, String(one.nodes), String(one.links), ...micro(leastTime)(one), busOf(one), ...(searched ? micro(foundTime)(one) : [])]));
    const units = own.some((one) => one.rate === null) ? ", a link of one chunk per round as above" : ", each link as its machine says";
    const states = own.filter((one) => one.alphas).length;
    const stated = states === 0 ? "α is the same for all machines."
      : `${states === own.length ? "Latencies are as stated" : "Latencies that a machine states replace α"}: of the fastest link for bounds, of the slowest for algorithms.`;
    at("sizes-words").textContent = `Formula: S · α + (R/C) · L · β${units}. A message of an allgather or gather is the output, P · L, as nccl-tests counts it: machines of different P compare. ${stated}`;
  }

  const set = (key) => (given) => { model[key] = given; paint(); changed(); };
  const select = (words, options, set) => labelled(words, make("select", { onchange: (event) => { set(event.target.value); paint(); } },
    ...options.map((one) => make("option", { value: one, selected: one === most }, one))));
  at("sizes-controls").replaceChildren(
    ...(data.collectives.length > 1 ? [select("collective", data.collectives, (given) => { collective = given; })] : []),
    ...(groups.length > 1 ? [select("machines with", groups, (given) => { group = given; })] : []),
    ...(links.length > 1 ? [select("links, at most", links, (given) => { most = Number(given); })] : []),
    numberInput("α of a step, µs", model.alpha, 1e6, set("alpha")),
    ...(machines.some((one) => one.rate === null)
      ? [numberInput("link of one chunk per round, GB/s", model.bandwidth, 1e-9, (given) => { if (given > 0) set("bandwidth")(given); })] : []));
  paint();
}
