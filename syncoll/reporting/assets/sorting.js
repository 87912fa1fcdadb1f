// Tables that are sorted by the column whose head is pressed.

/** A cell's place: numbers and exact fractions by value, other texts as words. */
function sortKey(cell) {
  const words = (cell.querySelector("[title]")?.title ?? cell.textContent).trim();
  return /^-?[\d.]+(\/\d+)?$/.test(words) ? value(words) : words;
}

/** Smaller first; numbers before words, and empty cells last whichever way. */
function ordered(a, b, way) {
  if (a === "" || b === "") return (a === "") - (b === "");
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  if (typeof a === "number") return way * (a - b);
  return way * a.localeCompare(b, "en", { numeric: true });
}

/** Makes the heads of a table buttons. */
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    const sort = () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [sortKey(row.cells[column]), row]);
      rows.sort(([a], [b]) => ordered(a, b, way));
      body.append(...rows.map(([, row]) => row));
    };
    head.replaceChildren(make("button", { type: "button", class: "sort", onclick: sort }, head.textContent));
  });
}
