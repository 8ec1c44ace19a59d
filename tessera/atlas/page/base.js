// What every part of the page uses: the data, elements, texts for numbers, and the state.

const data = JSON.parse(document.getElementById('data').textContent);
const forms = data.forms;
const arrayCount = data.keys.length;
const deviceCount = data.devices.id.length;

const $ = (id) => document.getElementById(id);

// An element with text and children.  Text never becomes markup: keys come from files.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'class') element.className = value;
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function sizeText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    ++unit;
  }
  return `${unit === 0 ? bytes : bytes.toFixed(2)} ${units[unit]}`;
}
const countText = (count) => count.toLocaleString('en-US');
const manyText = (count, noun) => `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
const timesText = (factor) => `${factor.toFixed(2)}×`;
const shareText = (part, whole) => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`);
const shapeText = (shape) => `[${shape.join(', ')}]`;

// How often a wanted byte is decoded; 1 for an empty array, as the planner counts.
const amplification = (form) =>
  forms.wanted[form] === 0 ? 1 : forms.decoded[form] / forms.wanted[form];
// How many devices hold each element.
function replication(form) {
  const placement = data.placements[forms.placement[form]];
  const holders = placement.block.reduce((count, block) => count + (block >= 0 ? 1 : 0), 0);
  return holders / placement.split.reduce((product, parts) => product * parts, 1);
}

// Canvas in device pixels, drawn in CSS pixels.  Sizes are cut to whole ones.
function prepareCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.floor(width)), Math.max(1, Math.floor(height))];
  const [fine_w, fine_h] = [Math.round(w * ratio), Math.round(h * ratio)];
  if (canvas.width !== fine_w || canvas.height !== fine_h) {
    canvas.width = fine_w;
    canvas.height = fine_h;
    canvas.style.width = `${w}px`;
    canvas.style.height = `${h}px`;
  }
  const paint = canvas.getContext('2d');
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint.clearRect(0, 0, w, h);
  return paint;
}

// Text cut to a width.  Measuring each label would cost more than drawing it, so that the widths of
// letters are added up.
const letterWidths = new Map();
function textWidth(paint, text) {
  let widths = letterWidths.get(paint.font);
  if (!widths) letterWidths.set(paint.font, (widths = new Map()));
  let sum = 0;
  for (const letter of text) {
    let width = widths.get(letter);
    if (width === undefined) widths.set(letter, (width = paint.measureText(letter).width));
    sum += width;
  }
  return sum;
}
function fitText(paint, text, width) {
  if (textWidth(paint, text) <= width) return text;
  const room = width - textWidth(paint, '…');
  let sum = 0;
  let fitting = '';
  for (const letter of text) {
    sum += textWidth(paint, letter);
    if (sum > room) break;
    fitting += letter;
  }
  return fitting.length < 2 ? '' : `${fitting}…`;
}

// What is looked at.  A view gets the names of the fields that changed.
const state = {
  selected: -1,  // an array
  device: -1,    // its place in data.devices
  pointed: -1,   // the device under the pointer
  query: '',
  rule: null,    // number of a rule; -1: the arrays that no rule takes; null: all
  zoom: null,    // a node of the tree
  colour: 'rule',
  view: 'shards',
};
const views = [];
function update(changes) {
  const changed = new Set();
  for (const [field, value] of Object.entries(changes)) {
    if (state[field] === value) continue;
    state[field] = value;
    changed.add(field);
  }
  if (changed.size > 0) for (const view of views) view(changed);
}
// The device that is shown: the one pointed at, else the chosen one.
const shownDevice = () => (state.pointed >= 0 ? state.pointed : state.device);
