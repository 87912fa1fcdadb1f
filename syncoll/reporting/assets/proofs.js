// The proof of a bound: prices on links and steps, the nodes of a cut, or the parts of a machine.

function proofsView(network) {
  const { proofs, certificates } = data;
  const state = { proof: 0, place: 0, step: null, prices: null };
  const picture = new Picture(at("proof-canvas"), network, describe);
  const title = (one) => `${one.steps === null ? "any number of steps" : `at most ${counted(one.steps, "step")}`}: R/C ≥ ${short(one.bound)}`;
  const current = () => certificates[proofs[state.proof].certificates[state.place]];
  const moment = (step) => state.step === null || step === state.step;

  /** The price of each lane, in one step or in all of them together. */
  function lanePrices() {
    const price = new Float64Array(network.limits.length);
    for (const { limit, step, amount } of state.prices ?? []) if (moment(step)) price[limit] += amount;
    return Float64Array.from(network.limitsOf, (limits) => limits.reduce((sum, limit) => sum + price[limit], 0));
  }

  function describe(kind, i) {
    if (kind === "node") return i < network.nodes ? `node ${i}` : network.name(i);
    const [a, b] = network.lanes[i].map(network.name);
    return `${a} → ${b}: price ${digits(lanePrices()[i])}`;
  }

  function paint() {
    const certificate = current();
    const price = lanePrices(), colour = ramp();
    const most = price.reduce((a, b) => Math.max(a, b), 1e-12);
    const inside = certificate?.inside ? new Set(certificate.inside) : null;
    const parts = certificate?.parts, kinds = parts ? Math.max(...parts) + 1 : 0;
    const full = themed("full"), accent = themed("accent-faint"), edge = themed("accent");
    picture.paint({
      lane: (i) => {
        if (inside) {
          const [a, b] = certificate.inwards ? [...network.lanes[i]].reverse() : network.lanes[i];
          return (network.rooms ? price[i] : inside.has(a) && !inside.has(b)) ? { colour: full, width: 3, above: 2 } : {};
        }
        if (!price[i]) return {};
        return { colour: colour(0.999 * price[i] / most), width: 1.4 + 2.6 * (price[i] / most), above: price[i] };
      },
      node: (i) => {
        if (inside) return inside.has(i) ? { back: accent, edge, strong: true } : {};
        if (parts) return { edge: kindColour(parts[i], kinds), strong: true };
        return {};
      },
    });
  }

  function explain() {
    const certificate = current(), proof = proofs[state.proof];
    at("proof-words").replaceChildren(make("strong", {}, `${proof.words[0].toUpperCase()}${proof.words.slice(1)}. `), ...(certificate?.words.map((one) => `${one} `) ?? []));
    at("proof-canvas").setAttribute("aria-label", `The proof on the network: ${proof.words}. The table below has its prices.`);
    const entries = [];
    const sample = (kind, words) => entries.push(make("span", {}, kind, words));
    if (certificate?.inside) {
      const circle = draw("circle", { cx: 7, cy: 7, r: 5.5, fill: "var(--accent-faint)", stroke: "var(--accent)", "stroke-width": 2 });
      sample(draw("svg", { width: 14, height: 14, "aria-hidden": "true" }, circle), "marked nodes");
      sample(make("i", { class: "block full", "aria-hidden": "true" }), `links that ${certificate.inwards ? "enter" : "leave"} them`);
    } else if (certificate) {
      sample(make("i", { class: "ramp", "aria-hidden": "true" }), "price of a link, low to high; grey: free");
    }
    at("proof-legend").replaceChildren(...entries);
    const rows = (state.prices ?? []).filter(({ step }) => moment(step)).map(({ limit, step, text }) =>
      [network.limits[limit].label, ...(certificate.by_step ? [String(step)] : []), network.limits[limit].roomText, short(text)]);
    if (rows.length) {
      const caption = certificate.inside ? "The links of the cut: each pays its share of a round" : "The prices";
      folded(at("proof-table"), caption, ["link or limit", ...(certificate.by_step ? [">step"] : []), ">room per round", ">price"], rows);
    } else {
      at("proof-table").replaceChildren(certificate && !certificate.prices ? "This page has no room for its prices; the file of the frontier has them." : "");
    }
  }

  async function show() {
    const certificate = current();
    state.prices = null;
    if (certificate?.prices) {
      const rows = await unpacked(certificate.prices);
      const third = rows.length / 3;
      state.prices = Array.from({ length: third }, (_, i) => {
        const text = certificate.values[rows[2 * third + i]];
        return { limit: rows[i], step: rows[third + i], text, amount: value(text) };
      });
    }
    const steps = [...new Set((state.prices ?? []).map(({ step }) => step))].sort((a, b) => a - b);
    const which = proofs[state.proof].certificates;
    place.replaceChildren(...which.map((_, i) => make("option", { value: i }, `C = ${certificates[which[i]].chunks}`)));
    place.value = state.place;
    placeLabel.hidden = which.length < 2;
    stepLabel.hidden = !certificate?.by_step || steps.length < 2;
    if (state.step !== null && !steps.includes(state.step)) state.step = null;
    step.replaceChildren(make("option", { value: "" }, "all steps"), ...steps.map((one) => make("option", { value: one }, `step ${one}`)));
    step.value = state.step ?? "";
    paint();
    explain();
  }

  const select = make("select", { id: "proof", onchange: () => { Object.assign(state, { proof: Number(select.value), place: 0 }); show(); } },
    ...proofs.map((one, i) => make("option", { value: i }, title(one))));
  const place = make("select", { onchange: () => { state.place = Number(place.value); show(); } });
  const step = make("select", { onchange: () => { state.step = step.value === "" ? null : Number(step.value); show(); } });
  const [placeLabel, stepLabel] = [labelled("shape of", place), labelled("prices of", step)];
  at("proof-controls").replaceChildren(labelled("claim", select), placeLabel, stepLabel);
  redrawn(at("proof-canvas").parentElement, paint);
  return (steps) => {
    const found = proofs.findIndex((one) => one.steps === steps);
    Object.assign(state, { proof: Math.max(0, found), place: 0 });
    select.value = state.proof;
    return show();
  };
}
