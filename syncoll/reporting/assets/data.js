// The data of the page: JSON, arrays as reporting/packing.py packs them, and numbers as texts.

const data = JSON.parse(document.getElementById("data").textContent);

/** The numbers of a packed array. */
async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const found = new Float64Array(packed.count);
  for (let byte = 0; byte < packed.bytes; byte++) {
    const factor = 256 ** byte;
    for (let i = 0; i < packed.count; i++) found[i] += factor * planes[byte * packed.count + i];
  }
  return found;
}

/** The value of an exact fraction such as "7/6". */
function value(text) {
  const [above, below] = text.split("/").map(Number);
  return below === undefined ? above : above / below;
}

/** Four significant digits, without an exponent where that is short. */
function digits(number) {
  if (number >= 1000) return number < 1e7 ? number.toFixed(0) : number.toPrecision(4);
  return String(Number(number.toPrecision(4)));
}

function inUnits(number, units) {
  const [name, factor] = units.find(([, factor]) => number >= factor * 0.99995) ?? units.at(-1);
  return `${digits(number / factor)} ${name}`;
}

const seconds = (number) => inUnits(number, [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]]);
const bytes = (number) => inUnits(number, [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024], ["B", 1]]);
const rate = (number) => inUnits(number, [["GB/s", 1e9], ["MB/s", 1e6], ["kB/s", 1e3], ["B/s", 1]]);
const percent = (share) => `${digits(100 * share)} %`;
const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : noun.endsWith("h") ? "es" : "s"}`;

/** A distance from a bound: in per cent, from 100 % on as a factor. */
const gapOf = (ratio) => ratio <= 1.00001 ? "optimal" : ratio < 1.995 ? `${Number((100 * (ratio - 1)).toPrecision(2))} %` : `${Number(ratio.toPrecision(2))}x`;

/** An exact fraction, as a decimal if it has more than seven characters. */
const short = (text) => text.length > 7 && text.includes("/") ? String(Number(value(text).toPrecision(5))) : text;

/** The name of an algorithm on the page. */
const named = (one) => `S = ${one.steps}, R/C = ${short(one.cost)}`;
