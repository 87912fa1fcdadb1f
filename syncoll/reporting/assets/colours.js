// Colours, taken from the style sheet, so that they follow the theme and the medium.

/** A colour of the style sheet by its name. */
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const parts = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** A colour between two, in hexadecimal. */
function between(low, high, share) {
  const [a, b] = [parts(low), parts(high)];
  return `rgb(${a.map((from, i) => Math.round(from + (b[i] - from) * share)).join(" ")})`;
}

/** The colours of loads: lighter to darker, and one of its own for full links. */
function ramp() {
  const [low, high, full] = ["low", "high", "full"].map(themed);
  return (share) => (share >= 0.99995 ? full : between(low, high, Math.max(0, share)));
}

// Okabe & Ito's colours are distinct for people who do not see all colours.
const FEW = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#b2a600"];

/** A colour for each of many kinds. */
const kindColour = (kind, kinds) =>
  kinds <= FEW.length ? FEW[kind] : `hsl(${(kind * 137.508) % 360} 68% ${[46, 58, 52][kind % 3]}%)`;

/** The look of a classic: colours and dashes that no other of the first 36 has. */
const CLASSICS = ["#d55e00", "#009e73", "#cc79a7", "#e69f00", "#8c6bb1", "#b2a600", "#56b4e9", "#a0522d", "#e15759"];
const DASHES = ["6 3", "2 3", "9 3 2 3", "12 4"];
function styled(line, i) {
  line.style.stroke = CLASSICS[i % CLASSICS.length];
  line.style.strokeDasharray = DASHES[i % DASHES.length];
  return line;
}

/** Whether dark text is easier to read on a colour than light text. */
function darkOn(colour) {
  const context = darkOn.context ??= document.createElement("canvas").getContext("2d");
  context.fillStyle = colour;
  const found = context.fillStyle;
  const [red, green, blue] = found.startsWith("#") ? parts(found) : found.match(/[\d.]+/g).map(Number);
  return 0.3 * red + 0.59 * green + 0.11 * blue > 150;
}
