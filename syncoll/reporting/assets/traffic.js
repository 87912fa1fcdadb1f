// The traffic of an algorithm in each step: loads as colours, chunks on their ways, arrivals at nodes.

const STEP_MILLISECONDS = 1400;
/** Chunks on a lane from which on a picture shows widths and numbers in place of chunks. */
const MANY_CHUNKS = 3;

async function readTraffic(one) {
  const [loads, counted, moves, kinds, arrived] = await Promise.all(
    [one.loads, one.counted, one.moves, one.kinds, one.arrived].map((packed) => (packed ? unpacked(packed) : null)));
  const starts = [0];
  if (moves) for (const count of one.moves_per_step) starts.push(starts.at(-1) + count);
  return { loads, counted, moves, kinds, arrived, starts, half: moves ? moves.length / 2 : 0 };
}

async function trafficView(network, choose) {
  const { algorithms } = data;
  const read = new Map();
  const state = { one: null, traffic: null, step: 0, whole: false, share: null, follow: null, table: "step" };
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const picture = new Picture(at("traffic-canvas"), network, describe);
  let frame = 0, began = 0;

  const spoken = (amount) => String(Number(amount.toPrecision(3)));
  const load = (link, step) => state.traffic.loads[link * state.one.steps + step];
  const total = (link) => { let sum = 0; for (let s = 0; s < state.one.steps; s++) sum += load(link, s); return sum; };
  const carried = (link) => (state.whole ? total(link) : load(link, state.step));
  const rounds = () => (state.whole ? state.one.rounds : state.one.rounds_per_step[state.step]);

  /** The chunks that a limit counts: all on its links, or one for each value that switches copy or add up. */
  function held(limit, i) {
    const { traffic, one } = state;
    if (!traffic.counted) return limit.links.reduce((sum, link) => sum + carried(link), 0);
    const own = traffic.counted.subarray(i * one.steps, (i + 1) * one.steps);
    return state.whole ? own.reduce((sum, chunks) => sum + chunks, 0) : own[state.step];
  }

  /** For each limit the chunks that it carries, and its share of room in use. */
  function uses() {
    const r = rounds();
    return network.limits.map((limit, i) => {
      const chunks = held(limit, i);
      return { ...limit, chunks, share: r ? chunks / (limit.room * r) : 0 };
    });
  }

  /** For each lane its chunks, and the share in use of the tightest limit that it is in. */
  function loads(used) {
    const amounts = onLanes(network, carried), r = rounds();
    return Array.from(amounts, (amount, i) => {
      if (i >= network.cables) return { amount: 0, share: 0 };
      const limits = network.limitsOf[i].map((limit) => used[limit]);
      if (!network.rooms) return { amount, share: Math.max(0, ...limits.map((limit) => limit.share)) };
      if (limits.length) return { amount: limits[0].chunks, share: limits[0].share };
      return { amount, share: r ? amount / (network.rooms[i] * r) : 0 };
    });
  }

  function describe(kind, i) {
    const { traffic, one } = state;
    if (!traffic?.loads) return "";
    const when = state.whole ? "in all steps" : `in step ${state.step}`;
    if (kind === "node") {
      if (i >= network.nodes) return network.name(i);
      const share = traffic.arrived?.[(state.whole ? one.steps : state.step) * network.nodes + i];
      return `node ${i}` + (share === undefined || share === 255 ? "" : `: has ${share} % of the data that it needs ${state.whole ? "in the end" : `before step ${state.step}`}`);
    }
    const [a, b] = network.lanes[i].map(network.name);
    const { amount, share } = loads(uses())[i];
    return `${a} → ${b}: ${amount === 1 ? "1 chunk" : `${spoken(amount)} chunks`} ${when}, ${percent(share)} used`;
  }

  /** The way of the followed chunk until now: its lanes, and the nodes that have it. */
  function trail() {
    const { traffic, follow } = state;
    if (follow === null || !traffic.moves) return null;
    const [before, now, reached] = [new Set(), new Set(), new Set()];
    const last = state.whole ? state.one.steps - 1 : state.step;
    for (let s = 0; s <= last; s++) {
      for (let i = traffic.starts[s]; i < traffic.starts[s + 1]; i++) {
        if (traffic.moves[traffic.half + i] !== follow) continue;
        const link = traffic.moves[i];
        for (const { lanes } of network.ways[link]) for (const lane of lanes) (s === last && !state.whole ? now : before).add(lane);
        reached.add(network.links[link][0]);
        if (s < last || state.whole) reached.add(network.links[link][1]);
      }
    }
    return { before, now, reached };
  }

  /** The chunks of the step, by the first lane of their ways. */
  function queues() {
    const { traffic, step, follow } = state;
    const found = new Map();
    for (let i = traffic.starts[step]; i < traffic.starts[step + 1]; i++) {
      const [link, chunk] = [traffic.moves[i], traffic.moves[traffic.half + i]];
      if (follow !== null && chunk !== follow) continue;
      const { lanes } = network.ways[link][0];
      if (!found.has(lanes[0])) found.set(lanes[0], []);
      found.get(lanes[0]).push({ chunk, lanes });
    }
    return found;
  }

  /** Whether lanes show numbers of chunks: from three on one lane, or where chunks are unknown. */
  const many = (amounts) => state.follow === null && (state.whole || !state.traffic.moves || amounts.some(({ amount }) => amount >= MANY_CHUNKS));

  function dots() {
    const { traffic, one, share, follow } = state;
    if (state.whole || !traffic.moves) return [];
    const kinds = one.kinds_are === "chunk" ? one.chunks_in_all : network.nodes;
    const found = [];
    for (const queue of queues().values()) {
      // A chunk that a switch copies goes once over the first lane.
      const ranks = traffic.counted ? [...new Set(queue.map(({ chunk }) => chunk))] : queue;
      // Standing still they are spread over the first lane; moving, they follow one another.
      const gap = 0.7 / ranks.length;
      queue.forEach(({ chunk, lanes }, i) => {
        const rank = traffic.counted ? ranks.indexOf(chunk) : i;
        const at = share === null ? (rank + 1) / (ranks.length + 1) / lanes.length : share * (1 + gap * (ranks.length - 1)) - rank * gap;
        if (at < 0 || at > 1) return;
        const hop = Math.min(lanes.length - 1, Math.floor(at * lanes.length));
        found.push({ lane: lanes[hop], chunk, share: at * lanes.length - hop, colour: follow === null ? kindColour(traffic.kinds[chunk], kinds) : themed("follow") });
      });
    }
    return found;
  }

  function paint() {
    const { traffic, one } = state;
    if (!traffic?.loads) {
      if (traffic) picture.paint({ lane: () => ({}), node: () => ({}) });
      return;
    }
    const colour = ramp(), seen = trail(), amounts = loads(uses());
    const most = amounts.reduce((found, { amount }) => Math.max(found, amount), 1);
    const numbered = many(amounts), wider = numbered ? 4 : 2.6;
    const follow = themed("follow"), fill = themed("node-filled");
    picture.paint({
      dots: numbered ? () => [] : dots,
      counts: numbered ? () => amounts.flatMap(({ amount }, lane) => (amount ? [{ lane, share: state.share, words: spoken(amount) }] : [])) : () => [],
      lane: (i) => {
        if (seen) {
          const now = seen.now.has(i);
          return now || seen.before.has(i) ? { colour: follow, width: now ? 3.4 : 1.8, above: now ? 2 : 1 } : {};
        }
        const { amount, share } = amounts[i];
        return amount ? { colour: colour(share), width: 1.2 + wider * (amount / most), above: share } : {};
      },
      node: (i) => {
        const row = state.whole ? one.steps : state.step + (state.share !== null && state.share > 0.97 ? 1 : 0);
        const share = traffic.arrived?.[row * network.nodes + i] ?? 255;
        const holds = seen?.reached.has(i);
        return { level: share === 255 ? 0 : share / 100, fill, edge: holds ? follow : undefined, strong: holds };
      },
    });
  }

  function summarise() {
    const { one, traffic } = state;
    if (!traffic.loads) {
      at("traffic-table").replaceChildren();
      at("traffic-words").textContent = "This page has no room for the loads of this algorithm; `syncoll show` prints its sends.";
      return;
    }
    const used = uses();
    const full = used.filter((limit) => limit.share >= 0.99995).length;
    const sent = state.whole ? one.sends : traffic.moves ? one.moves_per_step[state.step]
      : network.links.reduce((sum, _, i) => sum + load(i, state.step), 0);
    const where = state.whole ? `All ${counted(one.steps, "step")}` : `Step ${state.step} of 0 to ${one.steps - 1}`;
    at("traffic-words").replaceChildren(
      make("strong", {}, where), `: ${counted(rounds(), "round")}, ${counted(sent, "send")}; `
      + `${full.toLocaleString("en")} of ${counted(used.length, "limit")} full${state.whole ? " from the first to the last round" : ""}. `,
      traffic.moves ? "" : `Its ${one.sends.toLocaleString("en")} sends are shown as loads of links, without chunks. `);
    at("traffic-canvas").setAttribute("aria-label",
      `${data.title}, ${named(one)}, ${where}: ${sent} sends, ${full} limits full. The table below has the loads.`);
    const rows = used.map((limit, i) => ({ ...limit, i })).filter((limit) => limit.chunks > 0)
      .sort((a, b) => b.share - a.share || b.chunks - a.chunks || a.i - b.i)
      .map((limit) => [limit.label, String(limit.chunks), limit.roomText, meter(limit.share)]);
    folded(at("traffic-table"), `Links and shared limits by utilisation, ${state.whole ? "all steps" : `step ${state.step}`}`,
      ["link or limit", ">chunks", ">room per round", "used"], rows);
  }

  function refresh() {
    slider.value = state.step;
    slider.disabled = state.whole;
    slider.setAttribute("aria-valuetext", `step ${state.step}`);
    stepWords.textContent = state.whole ? "all" : String(state.step);
    wholeButton.setAttribute("aria-pressed", String(state.whole));
    paint();
    summarise();
  }

  function halt() {
    cancelAnimationFrame(frame);
    [frame, state.share] = [0, null];
    playButton.textContent = "▶";
    playButton.setAttribute("aria-label", "Play");
  }

  function play() {
    if (frame) { halt(); refresh(); return; }
    state.whole = false;
    if (state.step === state.one.steps - 1) state.step = 0;
    playButton.textContent = "❚❚";
    playButton.setAttribute("aria-label", "Pause");
    began = performance.now();
    refresh();
    const next = (now) => {
      const share = (now - began) / STEP_MILLISECONDS;
      if (share >= 1.12) {
        if (state.step === state.one.steps - 1) { halt(); refresh(); return; }
        state.step++;
        began = now;
        state.share = still.matches ? null : 0;
        refresh();
      } else if (!still.matches) {
        state.share = Math.min(1, share);
        paint();
      }
      frame = requestAnimationFrame(next);
    };
    frame = requestAnimationFrame(next);
  }

  const select = make("select", { onchange: () => choose(Number(select.value)) },
    ...algorithms.map((one, i) => make("option", { value: i }, `${named(one)}, C = ${one.chunks}`)));
  const playButton = make("button", { type: "button", class: "primary", "aria-label": "Play", id: "play", onclick: play }, "▶");
  const stepWords = make("span", { class: "value" });
  const slider = make("input", { type: "range", min: 0, step: 1, id: "step", "aria-label": "Step",
    oninput: () => { halt(); state.step = Number(slider.value); refresh(); } });
  const wholeButton = make("button", { type: "button", "aria-pressed": "false", onclick: () => { halt(); state.whole = !state.whole; refresh(); } }, "All steps");
  const follow = make("input", { type: "number", min: 0, step: 1, placeholder: "all", id: "follow", oninput: () => {
    const given = Number(follow.value);
    state.follow = follow.value !== "" && Number.isInteger(given) && given >= 0 && given < state.one.chunks_in_all ? given : null;
    follow.setCustomValidity(follow.value === "" || state.follow !== null ? "" : `a chunk from 0 to ${state.one.chunks_in_all - 1}`);
    refresh();
  } });
  const followLabel = labelled("follow chunk", follow);
  at("traffic-controls").replaceChildren(labelled("algorithm", select),
    make("div", { class: "group screen" }, playButton, wholeButton),
    make("label", { class: "wide" }, make("span", {}, "step ", stepWords), slider), followLabel);

  async function show(number) {
    halt();
    const one = algorithms[number];
    if (!one) return;
    if (!read.has(number)) read.set(number, readTraffic(one));
    const traffic = await read.get(number);
    Object.assign(state, { one, traffic, step: Math.min(state.step, Math.max(0, one.steps - 1)), follow: null });
    if (!one.steps) state.whole = true;
    select.value = number;
    follow.value = "";
    follow.max = (one.chunks_in_all ?? 1) - 1;
    followLabel.hidden = !traffic.moves;
    slider.max = Math.max(0, one.steps - 1);
    const block = (kind) => make("i", { class: `block ${kind}`, "aria-hidden": "true" });
    const meaning = { start: "one or two chunks on a link, by the node where they start", end: "one or two chunks on a link, by the node where they end", chunk: "one or two chunks on a link" };
    const icon = (...inside) => draw("svg", { width: 14, height: 14, "aria-hidden": "true" }, ...inside);
    const colours = FEW.slice(0, 4).map((colour, i) => draw("circle", { cx: 6 + 10 * i, cy: 6, r: 4.5, fill: colour }));
    at("traffic-legend").replaceChildren(
      make("span", {}, make("span", { class: "nowrap" }, "0 %"), make("i", { class: "ramp", "aria-hidden": "true" }), "of the tightest limit of a link"),
      make("span", {}, block("full"), "full"), make("span", {}, block("idle"), "idle"),
      make("span", {}, make("b", {}, "4"), "chunks on a link, which is wider for more"),
      ...(network.switches.length ? [make("span", {}, icon(draw("rect", { class: "switch", x: 1.5, y: 1.5, width: 11, height: 11, rx: 2 })), "switch")] : []),
      ...(picture.cards.size ? [make("span", {}, icon(draw("rect", { class: "switch", x: 1.5, y: 4, width: 11, height: 6, rx: 2 })), "network card")] : []),
      ...(network.broken.size ? [make("span", {}, icon(draw("path", { class: "stub", d: "M1 7H13" })), "link around the grid, with the node at its other end")] : []),
      ...(traffic.arrived ? [make("span", {}, block("filled"), "share of the data that a node needs and has")] : []),
      ...(traffic.moves ? [make("span", {}, draw("svg", { width: 42, height: 12, "aria-hidden": "true" }, ...colours), meaning[one.kinds_are])] : []));
    refresh();
  }
  redrawn(at("traffic-canvas").parentElement, paint);
  return show;
}
