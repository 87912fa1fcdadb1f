// Axes and labels of charts: from values to places, with ticks at round numbers.

/** A scale from values to pixels. */
function scaled(low, high, from, to, logarithmic) {
  const by = logarithmic ? Math.log : (number) => number;
  const [a, b] = [by(low), by(high)];
  return (number) => from + ((by(number) - a) / (b - a || 1)) * (to - from);
}

/** At most `most` round numbers in a range. */
function ticks(low, high, most, logarithmic) {
  if (logarithmic && high / low >= 8) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const digit of [1, 2, 5]) found.push(digit * 10 ** power);
    }
    const inside = found.filter((n) => n >= low * 0.9999 && n <= high * 1.0001);
    return inside.length <= most ? inside : inside.filter((n) => Math.abs(Math.log10(n) % 1) < 1e-9);
  }
  const rough = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 2.5, 5, 10].map((digit) => digit * power).find((one) => one >= rough) ?? 10 * power;
  const found = [];
  for (let n = Math.ceil(low / step) * step; n <= high * 1.000001; n += step) found.push(Number(n.toPrecision(10)));
  return found;
}

/** An empty chart as wide as its place, with its inner edges. */
function chart(place, label, height = null) {
  const width = Math.max(280, place.clientWidth || 640);
  const tall = height ?? Math.round(Math.min(420, Math.max(260, width * 0.5)));
  const svg = draw("svg", { viewBox: `0 0 ${width} ${tall}`, width, height: tall, role: "group", "aria-label": label });
  place.replaceChildren(svg);
  return { svg, width, height: tall, left: 52, right: width - 14, top: 14, bottom: tall - 44 };
}

/** The left edge of a chart with room for its numbers and the name of the axis. */
const besideNumbers = (texts) => 34 + 6.8 * Math.max(...texts.map((one) => one.length));

/** Lines and names of an axis on the left and one below. */
function axes(area, x, xTicks, xWords, y, yTicks, yWords, xText = String, yText = digits) {
  const { svg, left, right, top, bottom } = area;
  for (const tick of yTicks) {
    svg.append(draw("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
      draw("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, yText(tick)));
  }
  for (const tick of xTicks) {
    svg.append(draw("line", { class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }),
      draw("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, xText(tick)));
  }
  svg.append(draw("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    draw("text", { x: (left + right) / 2, y: bottom + 37, "text-anchor": "middle" }, xWords),
    draw("text", { transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, yWords));
}

const path = (places) => places.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Puts texts next to marks where they overlap no mark and no other text. */
function labelsOf(area) {
  const taken = [];
  const free = ([left, top, right, bottom]) => left >= area.left && right <= area.width && top >= 0 && bottom <= area.bottom
    && taken.every(([a, b, c, d]) => right <= a || left >= c || bottom <= b || top >= d);
  const box = (words, x, y, anchor) => {
    const width = 7 * words.length + 4;
    const left = x - (anchor === "end" ? width : anchor === "middle" ? width / 2 : 0);
    return [left, y - 12, left + width, y + 4];
  };
  return {
    block: (x, y, r) => taken.push([x - r, y - r, x + r, y + r]),
    text: (words, x, y, anchor) => taken.push(box(words, x, y, anchor)),
    put(words, x, y, kind, into) {
      for (const [dx, dy, anchor] of [[10, -9, "start"], [-10, -9, "end"], [10, 19, "start"], [-10, 19, "end"], [0, -15, "middle"], [0, 25, "middle"]]) {
        const own = box(words, x + dx, y + dy, anchor);
        if (!free(own)) continue;
        taken.push(own);
        into.append(draw("text", { class: kind, x: x + dx, y: y + dy, "text-anchor": anchor }, words));
        return;
      }
    },
  };
}

/** Heights as near to the wanted ones as a distance between them allows. */
function apart(wanted, least, low, high) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const found = [...wanted];
  order.forEach((i, n) => { found[i] = Math.max(wanted[i], n ? found[order[n - 1]] + least : low); });
  order.reverse().forEach((i, n) => { found[i] = Math.min(found[i], n ? found[order[n - 1]] - least : high); });
  return found;
}
