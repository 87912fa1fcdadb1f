// Elements, made one by one: no text ever becomes markup.

const at = (id) => document.getElementById(id);

function filled(element, attributes, children) {
  for (const [name, given] of Object.entries(attributes)) {
    if (given === null || given === undefined || given === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), given);
    else element.setAttribute(name, given === true ? "" : given);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** An element of HTML; attributes that begin with "on" are listeners. */
const make = (name, attributes = {}, ...children) =>
  filled(document.createElement(name), attributes, children);

/** An element of SVG. */
const draw = (name, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

/** A labelled control. */
const labelled = (words, control, more = "") =>
  make("label", { class: more || null }, make("span", {}, words), control);

/** Buttons of which one is pressed. */
function choices(words, options, chosen, pick) {
  const buttons = options.map(([key, text]) =>
    make("button", { type: "button", "aria-pressed": String(key === chosen), onclick: () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === buttons[options.findIndex((o) => o[0] === key)]));
      pick(key);
    } }, text));
  return make("div", { class: "group screen", role: "group", "aria-label": words }, ...buttons);
}

/** A table; columns whose name begins with ">" hold numbers. Cells are texts or elements. */
function tabled(caption, columns, rows) {
  const kind = columns.map((name) => (name.startsWith(">") ? "number" : null));
  const line = (cells, tag) => make("tr", {}, ...cells.map((cell, i) =>
    make(tag, { class: kind[i], scope: tag === "th" ? "col" : null }, cell)));
  return make("div", { class: "scroll", role: "region", "aria-label": caption },
    make("table", {}, make("caption", {}, caption),
      make("thead", {}, line(columns.map((name) => name.replace(/^>/, "")), "th")),
      make("tbody", {}, ...rows.map((cells) => line(cells, "td")))));
}

const FEW_ROWS = 10;
const MOST_ROWS = 600;

/** A table whose rows beyond the first few are shown when they are asked for. */
function folded(place, caption, columns, rows) {
  if (!rows.length) { place.replaceChildren(); return; }
  const show = (all) => {
    const shown = rows.slice(0, all ? MOST_ROWS : FEW_ROWS);
    const more = rows.length > shown.length && !all
      ? make("button", { type: "button", onclick: () => show(true) }, `Show ${counted(Math.min(rows.length, MOST_ROWS) - shown.length, "more row")}`)
      : null;
    place.replaceChildren(tabled(caption, columns, shown), ...(more ? [more] : []));
  };
  show(false);
}

/** A share as a bar and in per cent. */
function meter(share) {
  const bar = make("i", { class: share >= 0.99995 ? "full" : null });
  bar.style.width = `${Math.min(100, 100 * share)}%`;
  return make("span", {}, make("span", { class: "meter", "aria-hidden": "true" }, bar), percent(share));
}

/** Draws again whenever the width, the theme or the medium changes. */
function redrawn(element, paint) {
  let width = 0;
  new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    paint();
  }).observe(element);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => paint());
  }
}
