// What an algorithm does in each step: loads as colours, chunks on their ways, arrivals at nodes.

const STEP_MILLISECONDS = 1400;
const MOST_DOTS = 1200;

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
  const count = network.links.length;
  const picture = new Picture(at("traffic-canvas"), network, describe);
  let frame = 0, began = 0;

  const load = (link, step) => state.traffic.loads[link * state.one.steps + step];
  const total = (link) => { let sum = 0; for (let s = 0; s < state.one.steps; s++) sum += load(link, s); return sum; };
  const carried = (link) => (state.whole ? total(link) : load(link, state.step));
  const rounds = () => (state.whole ? state.one.rounds : state.one.rounds_per_step[state.step]);

  /** What a limit counts: every chunk on its links, or those that switches copy or add up once. */
  function held(limit, i) {
    const { traffic, one } = state;
    if (!traffic.counted) return limit.links.reduce((sum, link) => sum + carried(link), 0);
    const own = traffic.counted.subarray(i * one.steps, (i + 1) * one.steps);
    return state.whole ? own.reduce((sum, chunks) => sum + chunks, 0) : own[state.step];
  }

  /** For each limit the chunks that it carries, and which share of its room that is. */
  function uses() {
    const r = rounds();
    return network.limits.map((limit, i) => {
      const chunks = held(limit, i);
      return { ...limit, chunks, share: r ? chunks / (limit.room * r) : 0 };
    });
  }

  function describe(kind, i) {
    const { traffic, one } = state;
    if (!traffic?.loads) return "";
    const when = state.whole ? "in all steps" : `in step ${state.step}`;
    if (kind === "node") {
      const share = traffic.arrived?.[(state.whole ? one.steps : state.step) * network.nodes + i];
      return `node ${i}` + (share === undefined || share === 255 ? "" : `: has ${share} % of what it needs ${state.whole ? "in the end" : `before step ${state.step}`}`);
    }
    const [a, b] = network.links[i];
    return `${a} → ${b}: ${counted(carried(i), "chunk")} ${when}`;
  }

  /** What the followed chunk has done by now: the links it went over and the nodes that have it. */
  function trail() {
    const { traffic, follow } = state;
    if (follow === null || !traffic.moves) return null;
    const [before, now, reached] = [new Set(), new Set(), new Set()];
    const last = state.whole ? state.one.steps - 1 : state.step;
    for (let s = 0; s <= last; s++) {
      for (let i = traffic.starts[s]; i < traffic.starts[s + 1]; i++) {
        if (traffic.moves[traffic.half + i] !== follow) continue;
        const link = traffic.moves[i];
        (s === last && !state.whole ? now : before).add(link);
        reached.add(network.links[link][0]);
        if (s < last || state.whole) reached.add(network.links[link][1]);
      }
    }
    return { before, now, reached };
  }

  function dots() {
    const { traffic, one, step, share, follow } = state;
    if (state.whole || !traffic.moves) return [];
    const kinds = one.kinds_are === "chunk" ? one.chunks_in_all : network.nodes;
    const found = [], [first, end] = [traffic.starts[step], traffic.starts[step + 1]];
    const each = Math.max(1, Math.floor(MOST_DOTS / Math.max(1, network.links.filter((_, i) => load(i, step)).length)));
    state.sampled = false;
    for (let start = first, next = first; start < end; start = next) {
      const link = traffic.moves[start];
      while (next < end && traffic.moves[next] === link) next++;
      let queue = Array.from({ length: next - start }, (_, i) => traffic.moves[traffic.half + start + i]);
      if (follow !== null) queue = queue.filter((chunk) => chunk === follow);
      // As many as there is room for on the link, spread over all of its chunks.
      const most = Math.min(each, Math.max(1, Math.floor(picture.curves[link][3] / (2.4 * picture.dotSize()))));
      if (queue.length > most) {
        const every = queue.length / most;
        queue = Array.from({ length: most }, (_, i) => queue[Math.floor((i + 0.5) * every)]);
        state.sampled = true;
      }
      // Standing still they are spread over the link; moving, they follow one another.
      const gap = 0.7 / queue.length;
      queue.forEach((chunk, i) => {
        const at = share === null ? (i + 1) / (queue.length + 1) : share * (1 + gap * (queue.length - 1)) - i * gap;
        if (at < 0 || at > 1) return;
        found.push({ link, chunk, share: at, colour: follow === null ? kindColour(traffic.kinds[chunk], kinds) : themed("follow") });
      });
    }
    return found;
  }

  function paint() {
    const { traffic, one } = state;
    if (!traffic?.loads) {
      if (traffic) picture.paint({ link: () => ({}), node: () => ({}) });
      return;
    }
    const used = uses(), colour = ramp(), seen = trail();
    let most = 1;
    for (let i = 0; i < count; i++) most = Math.max(most, carried(i));
    const follow = themed("follow"), fill = themed("node-filled");
    picture.paint({
      dots,
      link: (i) => {
        if (seen) {
          const now = seen.now.has(i);
          return now || seen.before.has(i) ? { colour: follow, width: now ? 3.4 : 1.8, above: now ? 2 : 1 } : {};
        }
        const own = carried(i);
        if (!own) return {};
        const share = Math.max(0, ...network.limitsOf[i].map((limit) => used[limit].share));
        return { colour: colour(share), width: 1.2 + 2.6 * (own / most), above: share };
      },
      node: (i) => {
        const row = state.whole ? one.steps : state.step + (state.share !== null && state.share > 0.97 ? 1 : 0);
        const share = traffic.arrived?.[row * network.nodes + i] ?? 255;
        const holds = seen?.reached.has(i);
        return { level: share === 255 ? 0 : share / 100, fill, edge: holds ? follow : undefined, strong: holds };
      },
    });
  }

  function tell() {
    const { one, traffic } = state;
    if (!traffic.loads) {
      at("traffic-table").replaceChildren();
      at("traffic-told").textContent = "There was no room in this page for the loads of this algorithm; `syncoll show` has its sends.";
      return;
    }
    const used = uses();
    const full = used.filter((limit) => limit.share >= 0.99995).length;
    const sent = state.whole ? one.sends : traffic.moves ? one.moves_per_step[state.step]
      : network.links.reduce((sum, _, i) => sum + load(i, state.step), 0);
    const where = state.whole ? `All ${counted(one.steps, "step")}` : `Step ${state.step} of 0 to ${one.steps - 1}`;
    at("traffic-told").replaceChildren(
      make("strong", {}, where), `: ${counted(rounds(), "round")}, ${counted(sent, "send")}; `
      + `${full.toLocaleString("en")} of ${counted(used.length, "limit")} full${state.whole ? " from the first to the last round" : ""}. `,
      state.sampled && !state.whole ? "Of the chunks on a link only some are drawn. " : "",
      traffic.moves ? "" : `With ${one.sends.toLocaleString("en")} sends it is shown by the loads of links alone, without its chunks. `);
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
    tell();
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
    const meaning = { start: "chunks, by the node where they start", end: "chunks, by the node where they must end", chunk: "chunks" };
    const colours = FEW.slice(0, 4).map((colour, i) => draw("circle", { cx: 6 + 10 * i, cy: 6, r: 4.5, fill: colour }));
    at("traffic-legend").replaceChildren(
      make("span", {}, make("span", { class: "nowrap" }, "0 %"), make("i", { class: "ramp", "aria-hidden": "true" }), "of the tightest limit that a link is in"),
      make("span", {}, block("full"), "full"), make("span", {}, block("idle"), "idle"),
      ...(traffic.arrived ? [make("span", {}, block("filled"), "share of what a node needs that it has")] : []),
      ...(traffic.moves ? [make("span", {}, draw("svg", { width: 42, height: 12, "aria-hidden": "true" }, ...colours), meaning[one.kinds_are])] : []));
    refresh();
  }
  redrawn(at("traffic-canvas").parentElement, paint);
  return show;
}
