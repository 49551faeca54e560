"use strict";
const tip = document.getElementById("tip");

function show(words, x, y) {
  tip.textContent = words;
  tip.hidden = !words;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(0, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
  tip.style.top = Math.max(0, y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + "px";
}

// Values of a picture: 24 bits in red, green and blue of a second picture.
const read = new Map();
document.querySelectorAll("img.values").forEach(image => {
  const source = new Image();
  source.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = source.width;
    canvas.height = source.height;
    const context = canvas.getContext("2d", { willReadFrequently: true, colorSpace: "srgb" });
    context.drawImage(source, 0, 0);
    read.set(image, context);
    image.dataset.ready = "yes";
  };
  source.src = image.dataset.values;
});

// The image is contained in its box: scaled by one factor, centred.
function pixelAt(image, x, y) {
  const box = image.getBoundingClientRect();
  const scale = Math.min(box.width / image.naturalWidth, box.height / image.naturalHeight);
  const column = Math.floor((x - box.left - (box.width - scale * image.naturalWidth) / 2) / scale);
  const row = Math.floor((y - box.top - (box.height - scale * image.naturalHeight) / 2) / scale);
  const inside = column >= 0 && row >= 0 && column < image.naturalWidth && row < image.naturalHeight;
  return inside ? [column, row] : null;
}

function valueWords(image, column, row) {
  const [red, green, blue] = read.get(image).getImageData(column, row, 1, 1).data;
  const value = red * 65536 + green * 256 + blue + Number(image.dataset.least || 0);
  return `pixel ${column}, ${row}: ${value.toLocaleString("en")} ${image.dataset.unit}`;
}

document.addEventListener("pointermove", event => {
  const image = event.target.closest("img.values");
  if (image && read.has(image)) {
    const at = pixelAt(image, event.clientX, event.clientY);
    show(at ? valueWords(image, ...at) : "", event.clientX, event.clientY);
    return;
  }
  const owner = event.target.closest("[data-tip]");
  show(owner ? owner.dataset.tip : "", event.clientX, event.clientY);
});

document.addEventListener("focusin", event => {
  const owner = event.target.closest("[data-tip]");
  if (!owner) return show("", 0, 0);
  const box = owner.getBoundingClientRect();
  show(owner.dataset.tip, box.left, box.bottom - 14);
});

// Arrow keys move over the pixels of a picture that has the focus.
document.addEventListener("keydown", event => {
  if (event.key === "Escape") return show("", 0, 0);
  const image = event.target.closest("img.values");
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!image || !step || !read.has(image)) return;
  event.preventDefault();
  const [column, row] = (image.dataset.at || "0,0").split(",").map(Number);
  const next = [Math.max(0, Math.min(image.naturalWidth - 1, column + step[0])),
    Math.max(0, Math.min(image.naturalHeight - 1, row + step[1]))];
  image.dataset.at = next.join(",");
  const box = image.getBoundingClientRect();
  show(valueWords(image, ...next), box.left, box.bottom - 14);
});

function keyOf(cell) {
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return cell.classList.contains("number") || cell.textContent === "-" ? NaN : cell.textContent;
}

// What has no value stands last in both orders; equal rows keep their order.
function compare(one, other, sign) {
  const lacks = [one, other].map(key => typeof key === "number" && isNaN(key));
  if (lacks[0] || lacks[1]) return lacks[0] - lacks[1];
  if (typeof one === "number" && typeof other === "number") return sign * (one - other);
  return sign * String(one).localeCompare(String(other), "en", { numeric: true });
}

document.querySelectorAll("button.sort").forEach(button => button.addEventListener("click", () => {
  const head = button.closest("th"), table = button.closest("table"), body = table.tBodies[0];
  const sign = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
  table.querySelectorAll("th[aria-sort]").forEach(each => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const rows = [...body.rows].map(row => [keyOf(row.cells[head.cellIndex]), row]);
  rows.sort((one, other) => compare(one[0], other[0], sign)).forEach(([, row]) => body.append(row));
}));

document.querySelectorAll("input.search").forEach(field => field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase(), rows = [...field.closest("div").querySelectorAll("tbody tr")];
  rows.forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
  field.parentNode.querySelector("output").textContent =
    wanted ? `${rows.filter(row => !row.hidden).length} of ${rows.length} rows` : "";
}));

function choose(number) {
  document.querySelectorAll("[data-run]").forEach(part => { part.hidden = part.dataset.run !== number; });
  document.querySelectorAll("[data-show]").forEach(button =>
    button.setAttribute("aria-pressed", String(button.dataset.show === number)));
}
document.querySelectorAll("[data-show]").forEach(button =>
  button.addEventListener("click", () => choose(button.dataset.show)));
if (document.querySelector("[data-show]")) choose("0");
