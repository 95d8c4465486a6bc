"use strict";
// Sorting by column heads; the page says the same without this script.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  table.querySelectorAll("thead th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" };
      const order = next[head.getAttribute("aria-sort") || "none"];
      table.querySelectorAll("thead th").forEach((h) => h.removeAttribute("aria-sort"));
      const rows = [...original];
      if (order !== "none") {
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const key = (row) => {
          const cell = row.cells[column];
          return cell.dataset.order ?? cell.textContent.trim();
        };
        rows.sort((a, b) => {
          const x = key(a), y = key(b);
          if (x === "" || y === "") return (x === "") - (y === "");
          const dx = Number(x), dy = Number(y);
          if (!Number.isNaN(dx) && !Number.isNaN(dy)) return sign * (dx - dy);
          return sign * x.localeCompare(y, undefined, { numeric: true });
        });
      }
      body.append(...rows);
    });
  });
}
// The table of contents starts open where there is room beside the text.
const contents = document.querySelector("nav > details");
if (contents) contents.open = window.matchMedia("(min-width: 70rem)").matches;
// What is folded on the screen is printed.
window.addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
