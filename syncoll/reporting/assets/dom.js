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

/** Buttons, one of them pressed; `press` of the group presses another without picking it. */
function choices(words, options, chosen, pick) {
  const buttons = options.map(([key, text]) =>
    make("button", { type: "button", "aria-pressed": String(key === chosen), onclick: () => { group.press(key); pick(key); } }, text));
  const group = make("div", { class: "group screen", role: "group", "aria-label": words }, ...buttons);
  group.press = (key) => buttons.forEach((one, i) => one.setAttribute("aria-pressed", String(options[i][0] === key)));
  return group;
}

/** An input for a number of at least 0, shown in units of 1 / factor. */
const numberInput = (words, start, factor, set) => labelled(words, make("input", {
  type: "number", min: 0, step: "any", value: Number((start * factor).toPrecision(6)),
  oninput: (event) => { const given = Number(event.target.value); if (event.target.value !== "" && given >= 0) set(given / factor); },
}));

/** A table; columns whose name begins with ">" hold numbers. Cells are texts or elements. */
function tabled(caption, columns, rows) {
  const kind = columns.map((name) => (name.startsWith(">") ? "number" : null));
  const line = (cells, tag) => make("tr", {}, ...cells.map((cell, i) =>
    make(tag, { class: kind[i], scope: tag === "th" ? "col" : null }, cell)));
  return make("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 },
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

/** Marks the tables that scroll sideways, now and whenever widths change. */
function markWide() {
  const seen = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const box = target.closest(".scroll");
    box?.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
  }));
  const watch = () => document.querySelectorAll(".scroll, .scroll > table").forEach((one) => seen.observe(one));
  watch();
  new MutationObserver(watch).observe(document.querySelector("main"), { childList: true, subtree: true });
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
