// The treemap: areas are bytes.  It is laid out when size or zoom change, painted when colours or
// hits change; what is selected and pointed at lies on a canvas of its own above it.

const treemap = { boxes: [], width: 0, height: 0, pointed: -1, current: null };
const headHeight = 15;

// Rows of boxes that are as square as they can be: a row takes boxes along the shorter side for as
// long as that makes its worst one better.
function squarify(children, total, x, y, w, h, place) {
  const scale = (w * h) / total;
  let at = 0;
  while (at < children.length) {
    const side = Math.min(w, h);
    let [end, sum, worst] = [at, 0, Infinity];
    const most = children[at].bytes * scale;
    while (end < children.length) {
      const area = children[end].bytes * scale;
      const next = sum + area;
      const thick = next / side;
      const ratio = Math.max(most / (thick * thick), (thick * thick) / area);
      if (ratio > worst) break;
      [sum, worst] = [next, ratio];
      ++end;
    }
    const thick = sum / side;
    let along = 0;
    for (; at < end; ++at) {
      const length = (children[at].bytes * scale) / thick;
      if (w >= h) place(children[at], x, y + along, thick, length);
      else place(children[at], x + along, y, length, thick);
      along += length;
    }
    if (w >= h) [x, w] = [x + thick, Math.max(w - thick, 1e-9)];
    else [y, h] = [y + thick, Math.max(h - thick, 1e-9)];
  }
}

function childrenBySize(node) {
  if (!node.bySize) {
    const flat = node.children.flatMap((child) => (child.fold ? child.children : [child]));
    node.bySize = flat.filter((child) => child.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  }
  return node.bySize;
}

// What is too small to be seen apart is one box, in the colour of the largest array in it.
function placeNode(node, x, y, w, h, boxes) {
  const box = { node, x, y, w, h, head: 0 };
  boxes.push(box);
  if (node.array >= 0 || w < 1.5 || h < 1.5 || w * h < 6) {
    box.last = true;
    return;
  }
  if (node !== treemap.root) {
    if (w > 56 && h > 48) box.head = headHeight;
    const edge = w > 24 && h > 24 ? 1.5 : 0;
    [x, y, w, h] = [x + edge, y + (box.head || edge), w - 2 * edge, h - edge - (box.head || edge)];
  }
  squarify(childrenBySize(node), node.bytes, x, y, w, h, (child, cx, cy, cw, ch) =>
    placeNode(child, cx, cy, cw, ch, boxes));
}

function layOutMap() {
  const place = $('map-place').getBoundingClientRect();
  [treemap.width, treemap.height] = [Math.floor(place.width), Math.floor(place.height)];
  treemap.root = state.zoom;
  treemap.boxes = [];
  if (state.zoom.bytes > 0) {
    placeNode(state.zoom, 0, 0, treemap.width, treemap.height, treemap.boxes);
  }
  treemap.current = null;
}

// For each form the colours of boxes that are hits and of those that are not, with their ink.
function boxColours(colouring) {
  const entry = (rgb) => ({ fill: colourText(rgb), ink: inkOn(rgb) });
  return forms.shape.map((_, form) => {
    const rgb = colouring.of(form);
    return [entry(rgb), entry(mix(rgb, ground(), 0.86))];
  });
}

function paintMap() {
  const paint = prepareCanvas($('map'), treemap.width, treemap.height);
  const colouring = colourings[state.colour]();
  const colours = boxColours(colouring);
  const frame = colourText(mix(ground(), dark ? [255, 255, 255] : [0, 0, 0], 0.13));
  paint.font = '11px system-ui, sans-serif';
  paint.textBaseline = 'middle';
  for (const box of treemap.boxes) {
    const { node } = box;
    if (!box.last) {
      paintFrame(paint, box, frame);
      continue;
    }
    const faded = hits.active && !hasHit(node) ? 1 : 0;
    const { fill, ink } = colours[data.form[node.array >= 0 ? node.array : node.largest]][faded];
    paint.fillStyle = fill;
    const gap = box.w > 4 && box.h > 4 ? 1 : box.w > 2 && box.h > 2 ? 0.4 : 0;
    paint.fillRect(box.x, box.y, box.w - gap, box.h - gap);
    if (node.array >= 0 && box.w > 34 && box.h > 15) paintLabel(paint, box, ink);
  }
  showLegend(colouring);
}

function paintFrame(paint, box, frame) {
  if (box.node === treemap.root || box.w < 24 || box.h < 24) return;
  paint.fillStyle = frame;
  paint.fillRect(box.x, box.y, box.w - 1, box.h - 1);
  if (!box.head) return;
  paint.fillStyle = dark ? '#e7e9ec' : '#1b1e23';
  const text = fitText(paint, box.node.name, box.w - 10);
  if (text) paint.fillText(text, box.x + 4, box.y + headHeight / 2 + 0.5);
}

function paintLabel(paint, box, ink) {
  const text = fitText(paint, box.node.name, box.w - 8);
  if (!text) return;
  paint.fillStyle = ink;
  if (box.h > 32 && box.w > 60) {
    paint.fillText(text, box.x + 4, box.y + 11);
    paint.globalAlpha = 0.8;
    paint.fillText(fitText(paint, sizeText(box.node.bytes), box.w - 8), box.x + 4, box.y + 25);
    paint.globalAlpha = 1;
  } else {
    paint.fillText(text, box.x + 4, box.y + Math.min(box.h / 2, 11));
  }
}

function showLegend(colouring) {
  const legend = $('legend');
  if (colouring.ramp) {
    legend.replaceChildren(rampEntry(colouring.ramp));
    return;
  }
  legend.replaceChildren(...colouring.entries.slice(0, 24).map(swatchEntry));
  if (colouring.entries.length > 24) legend.append(`and ${colouring.entries.length - 24} more`);
}

function paintMapMarks() {
  const paint = prepareCanvas($('map-marks'), treemap.width, treemap.height);
  const outline = (box, colour, width) => {
    // Around a small box, along the inside of a large one.
    const inset = Math.min(box.w, box.h) < 14 ? -2 : 1;
    const sides = [box.x + inset, box.y + inset, box.w - 1 - 2 * inset, box.h - 1 - 2 * inset];
    paint.lineWidth = width + 2;
    paint.strokeStyle = colourText(ground());
    paint.strokeRect(...sides);
    paint.lineWidth = width;
    paint.strokeStyle = colour;
    paint.strokeRect(...sides);
  };
  if (treemap.current) outline(treemap.current, cssColour('--muted'), 1);
  const box = state.selected >= 0 ? boxOfArray(state.selected) : null;
  if (box) outline(box, cssColour('--mark'), 2);
}

// The smallest box that is drawn and holds the array.
function boxOfArray(array) {
  const above = new Set();
  for (let node = leafOf[array]; node; node = node.parent) above.add(node);
  let found = null;
  for (const box of treemap.boxes) if (box.last && above.has(box.node)) found = box;
  return found;
}

const inside = (box, x, y) => x >= box.x && y >= box.y && x < box.x + box.w && y < box.y + box.h;
// Boxes inside others come later.
function boxAt(x, y) {
  let found = null;
  for (const box of treemap.boxes) if (inside(box, x, y)) found = box;
  return found;
}

function showTip(box, x, y) {
  const tip = $('map-tip');
  tip.hidden = !box || box.node === treemap.root;
  if (tip.hidden) return;
  const node = box.node;
  const form = node.array >= 0 ? data.form[node.array] : -1;
  const more = form < 0 ? manyText(node.count, 'array')
    : `${data.dtypes[forms.dtype[form]]}${shapeText(forms.shape[form])}`;
  tip.replaceChildren(make('b', {}, keyOf(node)),
    `${sizeText(node.bytes)}, ${shareText(node.bytes, root.bytes)}, ${more}`);
  tip.style.left = `${Math.max(0, Math.min(x + 14, treemap.width - tip.offsetWidth - 4))}px`;
  const below = y + 16;
  const fits = below + tip.offsetHeight < treemap.height;
  tip.style.top = `${fits ? below : Math.max(0, y - tip.offsetHeight - 10)}px`;
}

function openBox(box) {
  if (!box) return;
  if (box.node.array >= 0) update({ selected: box.node.array });
  else update({ zoom: box.node === state.zoom ? zoomOut() : box.node });
}
// One step out; folds are not drawn.
function zoomOut() {
  let node = state.zoom.parent;
  while (node && node.fold) node = node.parent;
  return node || root;
}
// One step in, towards the array.
function zoomTowards(array) {
  let next = null;
  for (let node = leafOf[array].parent; node && node !== state.zoom; node = node.parent) {
    if (!node.fold) next = node;
  }
  return next || state.zoom;
}

// The nearest box in a direction, by the distance of centres; sideways counts double.
function neighbour(from, dx, dy) {
  const centre = (box) => [box.x + box.w / 2, box.y + box.h / 2];
  const [x, y] = centre(from);
  let [best, least] = [null, Infinity];
  for (const box of treemap.boxes) {
    if (!box.last || box === from || box.node.array < 0) continue;
    const [bx, by] = centre(box);
    const ahead = (bx - x) * dx + (by - y) * dy;
    const aside = Math.abs((bx - x) * dy) + Math.abs((by - y) * dx);
    const distance = ahead + 2 * aside;
    if (ahead > 0.5 && distance < least) [best, least] = [box, distance];
  }
  return best;
}

const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function mapKey(event) {
  const arrow = arrows[event.key];
  if (arrow) {
    const from = state.selected >= 0 ? boxOfArray(state.selected) : null;
    const to = from ? neighbour(from, ...arrow) : treemap.boxes.find((box) => box.node.array >= 0);
    if (to) update({ selected: to.node.array });
  } else if (event.key === 'Enter' && state.selected >= 0) {
    update({ zoom: zoomTowards(state.selected) });
  } else if (event.key === 'Escape' && state.zoom !== root) {
    update({ zoom: zoomOut() });
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

function showCrumbs() {
  const crumbs = [];
  for (const node of pathOf(state.zoom)) {
    if (crumbs.length > 0) crumbs.push(make('span', { 'aria-hidden': 'true' }, '›'));
    const go = () => update({ zoom: node });
    const crumb = make('button', { type: 'button', onclick: go }, node.name);
    crumb.disabled = node === state.zoom;
    crumbs.push(crumb);
  }
  $('crumbs').replaceChildren(...crumbs);
}

function startMap() {
  const marks = $('map-marks');
  marks.addEventListener('pointermove', (event) => {
    const box = boxAt(event.offsetX, event.offsetY);
    showTip(event.pointerType === 'touch' ? null : box, event.offsetX, event.offsetY);
    marks.style.cursor = box && box.node !== treemap.root ? 'pointer' : 'default';
    if (box === treemap.current) return;
    treemap.current = box && box.node !== treemap.root ? box : null;
    paintMapMarks();
  });
  marks.addEventListener('pointerleave', () => {
    treemap.current = null;
    showTip(null);
    paintMapMarks();
  });
  marks.addEventListener('click', (event) => openBox(boxAt(event.offsetX, event.offsetY)));
  marks.addEventListener('keydown', mapKey);
  $('colour').addEventListener('change', (event) => update({ colour: event.target.value }));
  views.push((changed) => {
    if (changed.has('zoom') || changed.has('size')) layOutMap();
    if (changed.has('zoom')) {
      showCrumbs();
      showTip(null);
    }
    if (['zoom', 'size', 'colour', 'theme', 'hits'].some((field) => changed.has(field))) paintMap();
    if (['zoom', 'size', 'theme', 'selected'].some((field) => changed.has(field))) paintMapMarks();
  });
}
