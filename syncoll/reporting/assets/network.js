// The network on a canvas: nodes, switches, boxes, curves of links, and a hint at the pointer.

const MOST_NAMED_NODES = 300;
const MOST_ARROWS = 900;
const CHEAP_LINKS = 3000;
const MOST_NUMBERED = 100;
const MOST_COUNTS = 600;

/** Pairs of a flat array. */
const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);

/** The network with its links as numbers, and the lanes that are drawn: its links, or its cables. */
async function readNetwork() {
  const { network } = data;
  const [ends, which, broken, sizes, members] = await Promise.all([network.links, network.bends.which,
    network.broken, network.limits.sizes, network.limits.links].map(unpacked));
  const links = pairs(ends);
  let start = 0;
  const limits = network.limits.labels.map((label, i) => {
    const own = Array.from(members.subarray(start, start += sizes[i]));
    const [a, b] = links[own[0]];
    return { label: own.length > 1 ? label : label ? `${label}, ${a} → ${b}` : `${a} → ${b}`, room: value(network.limits.room[i]), roomText: short(network.limits.room[i]), links: own };
  });
  const name = (vertex) => (vertex < network.nodes ? String(vertex) : `switch ${vertex - network.nodes}`);
  const found = { ...network, links, limits, name, broken: new Set(broken) };
  if (network.cables) return { ...found, ...await readCables(network, links, limits) };
  const limitsOf = links.map(() => []);
  limits.forEach((limit, i) => limit.links.forEach((link) => limitsOf[link].push(i)));
  const bends = Array.from(which, (i) => network.bends.values[i]);
  return { ...found, lanes: links, bends, limitsOf, cables: links.length, ways: links.map((_, i) => [{ share: 1, lanes: [i] }]) };
}

/** The cables of a network with switches as lanes; a limit that is no cable has its links as lanes, too. */
async function readCables({ cables }, links, limits) {
  const [ends, strands, hops, shares] = await Promise.all([cables.ends, cables.strands, cables.lanes, cables.share].map(unpacked));
  const lanes = pairs(ends);
  const linksOn = lanes.map(() => []);
  let next = 0;
  const ways = links.map((_, link) => Array.from({ length: strands[link] }, () => {
    const own = Array.from(hops.subarray(next * cables.hops, (next + 1) * cables.hops)).filter((lane) => lane > 0).map((lane) => lane - 1);
    for (const lane of own) if (linksOn[lane].at(-1) !== link) linksOn[lane].push(link);
    return { share: cables.shares[shares[next++]], lanes: own };
  }));
  const known = new Map(limits.map((limit, i) => [[...limit.links].sort((a, b) => a - b).join(), i]));
  const limitsOf = linksOn.map((own) => [known.get(own.join())].filter((limit) => limit !== undefined));
  const drawn = new Set(limitsOf.flat());
  const bends = lanes.map(() => 0.07);
  limits.forEach((limit, i) => {
    if (drawn.has(i)) return;
    for (const link of limit.links) {
      lanes.push(links[link]);
      limitsOf.push([i]);
      bends.push(0.4);
    }
  });
  return { lanes, bends, limitsOf, cables: linksOn.length, rooms: cables.rooms, ways };
}

/** The sum over the links of each lane of some amounts. */
function onLanes(network, amount) {
  const found = new Float64Array(network.lanes.length);
  network.ways.forEach((ways, link) => {
    const own = amount(link);
    if (own) for (const { share, lanes } of ways) for (const lane of lanes) found[lane] += share * own;
  });
  return found;
}

/** Draws a network on a canvas. `tell` describes a lane or a vertex at the pointer. */
class Picture {
  constructor(canvas, network, tell) {
    Object.assign(this, { canvas, network, tell });
    this.hint = make("div", { class: "hint" });
    canvas.after(this.hint);
    const all = this.places = [...network.places, ...network.switches];
    const edge = (axis, by) => all.reduce((best, place) => by(best, place[axis]), all[0]?.[axis] ?? 0);
    this.low = [edge(0, Math.min), edge(1, Math.min)];
    this.span = [edge(0, Math.max) - this.low[0], edge(1, Math.max) - this.low[1]];
    const length = ([a, b]) => Math.hypot(all[a][0] - all[b][0], all[a][1] - all[b][1]);
    this.shortest = network.lanes.reduce((least, lane) => Math.min(least, length(lane)), Infinity);
    this.cards = new Set(network.switches.map((_, i) => i + network.nodes).filter((vertex) => {
      const next = network.lanes.slice(0, network.cables).filter(([a]) => a === vertex).map(([, b]) => b);
      return next.length === 2 && next.filter((b) => b < network.nodes).length === 1;
    }));
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => { this.hint.textContent = ""; });
  }

  /** Fits the network into the canvas's width. */
  fit() {
    const { canvas, network } = this;
    const width = Math.max(240, canvas.parentElement.clientWidth);
    const margin = network.broken.size ? 1.05 : 0.75;
    const [w, h] = this.span.map((span) => span + 2 * margin);
    const most = Math.min(680, Math.max(300, innerHeight * 0.78));
    this.scale = Math.min(width / w, most / h, 170);
    const height = Math.max(140, Math.ceil(this.scale * h));
    const dense = Math.max(2, devicePixelRatio || 1);
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    canvas.style.height = `${height}px`;
    this.context = canvas.getContext("2d");
    this.context.setTransform(dense, 0, 0, dense, 0, 0);
    this.shift = [(width - this.scale * w) / 2 + (margin - this.low[0]) * this.scale, (height - this.scale * h) / 2 + (margin - this.low[1]) * this.scale];
    this.radius = Math.max(2, Math.min(17, this.scale * 0.27 * Math.min(1, this.shortest)));
    this.size = [width, height];
    this.at = this.places.map((place) => this.place(place));
    this.curves = network.lanes.map(([a, b], i) => {
      const [from, to] = [this.at[a], this.at[b]];
      const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
      const length = Math.hypot(dx, dy) || 1;
      const bend = 2 * network.bends[i] * this.scale;
      return [from, [(from[0] + to[0]) / 2 - (dy / length) * bend, (from[1] + to[1]) / 2 + (dx / length) * bend], to, length];
    });
  }

  /** The two ends of a broken link, each as a straight piece in its direction. */
  ends(link) {
    const [from, , to, length] = this.curves[link];
    const [dx, dy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
    const [long, side] = [0.62 * this.scale, this.network.bends[link] * this.scale];
    const piece = ([x, y], a, b) => [[x - dy * side + dx * a, y + dx * side + dy * a], [x - dy * side + dx * b, y + dx * side + dy * b]];
    return [piece(from, 0, -long), piece(to, long, 0)];
  }

  place([x, y]) {
    return [x * this.scale + this.shift[0], y * this.scale + this.shift[1]];
  }

  /** A place on a link, from 0 at its source to 1. */
  along(link, share) {
    const [a, b, c, length] = this.curves[link];
    if (this.network.broken.has(link)) {
      const [start, end] = this.ends(link)[share < 0.5 ? 0 : 1];
      const t = share < 0.5 ? 2 * share : 2 * share - 1;
      return [start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])];
    }
    const trim = Math.min(0.4, this.radius / length);
    const t = trim + share * (1 - 2 * trim);
    const [u, v, w] = [(1 - t) ** 2, 2 * t * (1 - t), t ** 2];
    return [u * a[0] + v * b[0] + w * c[0], u * a[1] + v * b[1] + w * c[1]];
  }

  /** Paints boxes, lanes, chunks or their counts, switches, then nodes; `lane(i)` and `node(i)` give looks. */
  paint({ lane, node, dots = () => [], counts = () => [] }) {
    this.fit();
    const { context, network } = this;
    context.clearRect(0, 0, ...this.size);
    const line = themed("line"), ink = themed("ink"), idle = themed("idle");
    context.lineWidth = 1;
    context.strokeStyle = line;
    context.fillStyle = themed("faint");
    for (const box of network.boxes) {
      const all = box.map((one) => this.at[one]);
      const pad = this.radius + this.scale * 0.28;
      const [xs, ys] = [all.map(([x]) => x), all.map(([, y]) => y)];
      const [x, y] = [Math.min(...xs) - pad, Math.min(...ys) - pad];
      context.beginPath();
      context.roundRect(x, y, Math.max(...xs) + pad - x, Math.max(...ys) + pad - y, Math.min(14, pad));
      context.globalAlpha = 0.6;
      context.fill();
      context.globalAlpha = 1;
      context.stroke();
    }
    const looks = network.lanes.map((_, i) => lane(i));
    // Busy lanes lie above idle ones.
    const order = looks.map((_, i) => i).sort((a, b) => (looks[a].above ?? -1) - (looks[b].above ?? -1));
    const thin = Math.min(1, Math.max(0.22, this.scale / 45));
    const cheap = network.lanes.length > CHEAP_LINKS;
    const arrows = network.lanes.length <= MOST_ARROWS;
    for (const i of order) {
      const { colour, width } = looks[i];
      if (!colour && (i >= network.cables || (cheap && this.scale < 40))) continue;
      const [a, b, c, length] = this.curves[i];
      context.strokeStyle = colour ?? idle;
      context.globalAlpha = colour ? 1 : 0.55;
      context.lineWidth = colour ? Math.max(0.8, width * Math.min(1, this.scale / 70)) : thin;
      context.beginPath();
      if (network.broken.has(i)) {
        for (const [start, end] of this.ends(i)) {
          context.moveTo(...start);
          context.lineTo(...end);
        }
      } else {
        context.moveTo(...a);
        context.quadraticCurveTo(...b, ...c);
      }
      context.stroke();
      if (arrows && colour && length > 4.4 * this.radius) this.arrow(i, colour, width);
    }
    context.globalAlpha = 1;
    this.stubs();
    this.switches();
    this.dots(dots());
    this.counts(counts());
    const named = network.nodes <= MOST_NAMED_NODES && this.radius >= 6.5;
    context.font = `600 ${Math.round(Math.min(13, this.radius * 0.92))}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    this.at.slice(0, network.nodes).forEach(([x, y], i) => {
      const look = node(i);
      context.beginPath();
      context.arc(x, y, this.radius, 0, 2 * Math.PI);
      context.fillStyle = look.back ?? themed("node");
      context.fill();
      if (look.level > 0) {
        context.save();
        context.clip();
        context.fillStyle = look.fill;
        const top = y + this.radius - 2 * this.radius * look.level;
        context.fillRect(x - this.radius, top, 2 * this.radius, 2 * this.radius);
        context.restore();
      }
      context.lineWidth = look.strong ? Math.max(1.6, this.radius * 0.24) : Math.min(1.2, this.radius * 0.25);
      context.strokeStyle = look.edge ?? themed("soft");
      context.stroke();
      if (named) {
        context.fillStyle = look.ink ?? ink;
        context.fillText(String(i), x, y + 0.5);
      }
    });
  }

  arrow(link, colour, width) {
    const { context } = this;
    const [[x, y], [fromX, fromY]] = [this.along(link, 0.66), this.along(link, 0.58)];
    const turn = Math.atan2(y - fromY, x - fromX);
    const size = 3 + 1.4 * Math.min(3.8, width);
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x + size * Math.cos(turn), y + size * Math.sin(turn));
    for (const side of [2.5, -2.5]) context.lineTo(x + size * Math.cos(turn + side), y + size * Math.sin(turn + side));
    context.fill();
  }

  /** The other end at each stub. */
  stubs() {
    const { context, network } = this;
    if (this.radius < 8) return;
    context.font = `500 ${Math.round(Math.min(11, this.radius * 0.8))}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = themed("soft");
    for (const lane of network.broken) {
      const [, [x, y]] = this.ends(lane)[0];
      const [[a, b], , , length] = this.curves[lane];
      const [dx, dy] = [(this.curves[lane][2][0] - a) / length, (this.curves[lane][2][1] - b) / length];
      const side = this.network.bends[lane] * this.scale;
      context.fillText(String(network.lanes[lane][1]), x - 0.16 * this.scale * dx + dy * side, y - 0.16 * this.scale * dy - dx * side);
    }
  }

  /** Switches as squares; network cards, which have two neighbours, are flat. */
  switches() {
    const { context, network } = this;
    if (!network.switches.length) return;
    context.lineWidth = 1.2;
    context.strokeStyle = themed("ink");
    context.fillStyle = themed("switch");
    this.at.slice(network.nodes).forEach(([x, y], i) => {
      const wide = this.radius * 0.75;
      const tall = wide * (this.cards.has(i + network.nodes) ? 0.5 : 1);
      context.beginPath();
      context.roundRect(x - wide, y - tall, 2 * wide, 2 * tall, Math.min(3, wide / 3));
      context.fill();
      context.stroke();
    });
  }

  /** The number of chunks on each lane, where there is room for it; larger ones first. */
  counts(found) {
    if (!found.length || found.length > MOST_COUNTS) return;
    const { context } = this;
    const size = Math.round(Math.max(9, Math.min(12, this.scale * 0.16)));
    context.font = `600 ${size}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const taken = [];
    for (const { lane, share, words } of [...found].sort((a, b) => b.words.length - a.words.length)) {
      const half = 0.31 * size * words.length + 1.5;
      if (this.curves[lane][3] < 2 * this.radius + 2 * half) continue;
      const [x, y] = this.along(lane, share ?? (this.network.broken.has(lane) ? 0.3 : 0.34));
      const own = [x - half, y - size / 2, x + half, y + size / 2];
      if (taken.some(([a, b, c, d]) => own[2] > a && own[0] < c && own[3] > b && own[1] < d)) continue;
      taken.push(own);
      context.fillStyle = themed("card");
      context.globalAlpha = 0.85;
      context.fillRect(own[0], own[1], 2 * half, size);
      context.globalAlpha = 1;
      context.fillStyle = themed("ink");
      context.fillText(words, x, y + 0.5);
    }
  }

  dotSize() {
    return Math.max(2, Math.min(5.5, this.radius * 0.42));
  }

  /** Chunks on their ways, with their numbers if there are few. */
  dots(found) {
    const { context } = this;
    const numbered = found.length <= MOST_NUMBERED && this.scale > 90;
    const size = numbered ? 8.5 : this.dotSize();
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = "600 9px system-ui, sans-serif";
    context.lineWidth = 1;
    context.strokeStyle = themed("card");
    for (const { lane, share, colour, chunk } of found) {
      const [x, y] = this.along(lane, share);
      context.beginPath();
      context.arc(x, y, size, 0, 2 * Math.PI);
      context.fillStyle = colour;
      context.fill();
      context.stroke();
      if (!numbered) continue;
      context.fillStyle = darkOn(colour) ? "#101418" : "#ffffff";
      context.fillText(String(chunk), x, y + 0.5);
    }
  }

  /** Describes the vertex or lane that is nearest to the pointer. */
  point(event) {
    if (!this.at) return;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const near = ([a, b]) => Math.hypot(a - x, b - y);
    let best = [this.radius + 2, ""];
    this.at.forEach((place, i) => { if (near(place) < best[0]) best = [near(place), this.tell("node", i)]; });
    if (!best[1]) {
      best[0] = 9;
      this.curves.forEach((_, i) => {
        for (const share of [0.2, 0.35, 0.5, 0.65, 0.8]) {
          const apart = near(this.along(i, share));
          if (apart < best[0] && i < this.network.cables) best = [apart, this.tell("lane", i)];
        }
      });
    }
    this.hint.textContent = best[1];
  }
}
