// The network on a canvas: places, curves of links, boxes, and what is under the pointer.

const MOST_NAMED_NODES = 300;
const MOST_ARROWS = 900;
const CHEAP_LINKS = 3000;
const MOST_NUMBERED = 100;

/** The network with its links as numbers. */
async function readNetwork() {
  const { network } = data;
  const [ends, which, broken, sizes, members] = await Promise.all([network.links, network.bends.which,
    network.broken, network.limits.sizes, network.limits.links].map(unpacked));
  const bends = Array.from(which, (i) => network.bends.values[i]);
  const links = [];
  for (let i = 0; i < ends.length; i += 2) links.push([ends[i], ends[i + 1]]);
  let start = 0;
  const limits = network.limits.labels.map((label, i) => {
    const own = Array.from(members.subarray(start, start += sizes[i]));
    const [a, b] = links[own[0]];
    return { label: own.length > 1 ? label : label ? `${label}, ${a} → ${b}` : `${a} → ${b}`, room: value(network.limits.room[i]), roomText: network.limits.room[i], links: own };
  });
  const limitsOf = links.map(() => []);
  limits.forEach((limit, i) => limit.links.forEach((link) => limitsOf[link].push(i)));
  return { ...network, links, bends, limits, limitsOf, broken: new Set(broken) };
}

/** Draws a network on a canvas. `tell` says what a link or a node is, for the pointer. */
class Picture {
  constructor(canvas, network, tell) {
    Object.assign(this, { canvas, network, tell });
    this.hint = make("div", { class: "hint" });
    canvas.after(this.hint);
    const all = network.places;
    const edge = (axis, by) => all.reduce((best, place) => by(best, place[axis]), all[0]?.[axis] ?? 0);
    this.low = [edge(0, Math.min), edge(1, Math.min)];
    this.span = [edge(0, Math.max) - this.low[0], edge(1, Math.max) - this.low[1]];
    const length = ([a, b]) => Math.hypot(all[a][0] - all[b][0], all[a][1] - all[b][1]);
    this.shortest = network.links.reduce((least, link) => Math.min(least, length(link)), Infinity);
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => { this.hint.textContent = ""; });
  }

  /** Fits the network into the canvas's width. */
  fit() {
    const { canvas, network } = this;
    const width = Math.max(240, canvas.parentElement.clientWidth);
    const margin = 0.75;
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
    this.at = network.places.map((place) => this.place(place));
    this.curves = network.links.map(([a, b], i) => {
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

  /** Paints boxes, links, chunks, then nodes; `link(i)` and `node(i)` give what each looks like. */
  paint({ link, node, dots = () => [] }) {
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
    const looks = network.links.map((_, i) => link(i));
    // What is busy lies above what is not.
    const order = looks.map((_, i) => i).sort((a, b) => (looks[a].above ?? -1) - (looks[b].above ?? -1));
    const thin = Math.min(1, Math.max(0.22, this.scale / 45));
    const cheap = network.links.length > CHEAP_LINKS;
    const arrows = network.links.length <= MOST_ARROWS;
    for (const i of order) {
      const { colour, width } = looks[i];
      if (!colour && cheap && this.scale < 40) continue;
      const [a, b, c, length] = this.curves[i];
      context.strokeStyle = colour ?? idle;
      context.globalAlpha = colour ? 1 : 0.55;
      context.lineWidth = colour ? Math.max(0.8, width * thin) : thin;
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
      if (arrows && colour && length > 3.4 * this.radius) this.arrow(i, colour, width);
    }
    context.globalAlpha = 1;
    this.dots(dots());
    const named = network.nodes <= MOST_NAMED_NODES && this.radius >= 6.5;
    context.font = `600 ${Math.round(Math.min(13, this.radius * 0.92))}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    this.at.forEach(([x, y], i) => {
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
    const size = 3 + 1.4 * width;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x + size * Math.cos(turn), y + size * Math.sin(turn));
    for (const side of [2.5, -2.5]) context.lineTo(x + size * Math.cos(turn + side), y + size * Math.sin(turn + side));
    context.fill();
  }

  dotSize() {
    return Math.max(2, Math.min(5.5, this.radius * 0.42));
  }

  /** Chunks on their ways, with their numbers where there are few. */
  dots(found) {
    const { context } = this;
    const numbered = found.length <= MOST_NUMBERED && this.scale > 90;
    const size = numbered ? 8.5 : this.dotSize();
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = "600 9px system-ui, sans-serif";
    context.lineWidth = 1;
    context.strokeStyle = themed("card");
    for (const { link, share, colour, chunk } of found) {
      const [x, y] = this.along(link, share);
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

  /** Says what is nearest to the pointer. */
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
          if (apart < best[0]) best = [apart, this.tell("link", i)];
        }
      });
    }
    this.hint.textContent = best[1];
  }
}
