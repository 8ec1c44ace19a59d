// The list of keys: a tree, or the hits of a search.  Only the rows in sight are elements.

const rowHeight = 26;
const keyList = { rows: [], open: new Set(), current: 0, width: 0, height: 0, font: '' };

function openFirst() {
  // Enough levels to fill the list, not more.
  let level = [root];
  let shown = 0;
  while (level.length > 0 && shown + level.length < 40) {
    shown += level.length;
    for (const node of level) keyList.open.add(node);
    level = level.flatMap((node) =>
      node.children.filter((child) => child.array < 0 && !child.fold));
  }
  keyList.open.add(root);
}

function listRows() {
  keyList.rows = [];
  if (!hits.active) visitRows(root, 1);
  $('keys-space').style.height = `${rowCount() * rowHeight}px`;
}

function visitRows(node, level) {
  const size = node.children.length;
  node.children.forEach((child, i) => {
    keyList.rows.push({ node: child, level, at: i + 1, size, flat: false });
    if (keyList.open.has(child)) visitRows(child, level + 1);
  });
}

// Hits are rows already, in one level.
const rowCount = () => (hits.active ? hits.list.length : keyList.rows.length);
function rowAt(i) {
  if (!hits.active) return keyList.rows[i];
  const size = hits.list.length;
  if (i >= size) return undefined;
  return { node: leafOf[hits.list[i]], level: 1, at: i + 1, size, flat: true };
}
const rowOf = (node) => (hits.active ? hits.list.indexOf(node.array)
  : keyList.rows.findIndex((each) => each.node === node));

function rowElement(row, i) {
  const { node } = row;
  const element = make('div', {
    class: i === keyList.current ? 'row current' : 'row', role: 'treeitem', id: `row-${i}`,
    'aria-level': row.level, 'aria-posinset': row.at, 'aria-setsize': row.size,
    'aria-selected': node.array >= 0 && node.array === state.selected,
  });
  element.style.top = `${i * rowHeight}px`;
  element.style.paddingLeft = `${4 + (row.level - 1) * 14}px`;
  const open = keyList.open.has(node);
  if (node.array < 0) element.setAttribute('aria-expanded', open);
  const label = make('span', { class: 'label' });
  const size = sizeText(node.bytes);
  ruler.font = keyList.font;
  if (row.flat) labelHit(label, data.keys[node.array], keyList.width - textWidth(ruler, size) - 44);
  else label.textContent = node.name;
  label.title = node.array >= 0 ? data.keys[node.array] : keyOf(node);
  const twist = node.array >= 0 ? '' : open ? '▼' : '▶';
  element.append(make('span', { class: 'twist' }, twist), label);
  if (node.fold) element.append(make('span', { class: 'alike' }, `${node.children.length} alike`));
  element.append(make('span', { class: 'size' }, size));
  return element;
}

// Where in a key the searched text stands: first and end.
function hitPlace(key) {
  const query = state.query.trim().toLowerCase();
  if (hits.pattern) {
    const found = hits.pattern.exec(key);
    return found ? [found.index, found.index + found[0].length] : [0, 0];
  }
  const first = query ? key.toLowerCase().indexOf(query) : -1;
  return first < 0 ? [0, 0] : [first, first + query.length];
}

// The end of a long key tells more than its beginning, so that it is the beginning that is cut.
function labelHit(label, key, room) {
  const [first, end] = hitPlace(key);
  const cut = beginThatFits(key, room);
  const clamp = (at) => Math.max(at, cut);
  label.append(cut > 0 ? '…' : '', key.slice(cut, clamp(first)),
    make('mark', {}, key.slice(clamp(first), clamp(end))), key.slice(clamp(end)));
}

const ruler = document.createElement('canvas').getContext('2d');
function beginThatFits(key, room) {
  ruler.font = keyList.font;
  if (textWidth(ruler, key) <= room) return 0;
  let sum = textWidth(ruler, '…');
  for (let at = key.length; at > 0; --at) {
    sum += textWidth(ruler, key[at - 1]);
    if (sum > room) return at;
  }
  return 0;
}

function paintKeys() {
  const list = $('keys');
  const space = $('keys-space');
  const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 4);
  const end = Math.min(rowCount(),
    Math.ceil((list.scrollTop + keyList.height) / rowHeight) + 4);
  const elements = [];
  for (let i = first; i < end; ++i) elements.push(rowElement(rowAt(i), i));
  space.replaceChildren(...elements);
  if (keyList.current >= first && keyList.current < end) {
    list.setAttribute('aria-activedescendant', `row-${keyList.current}`);
  } else {
    list.removeAttribute('aria-activedescendant');
  }
}

function scrollToCurrent() {
  const list = $('keys');
  const top = keyList.current * rowHeight;
  if (top < list.scrollTop) list.scrollTop = top;
  if (top + rowHeight > list.scrollTop + keyList.height) {
    list.scrollTop = top + rowHeight - keyList.height;
  }
}

function moveTo(i) {
  keyList.current = Math.max(0, Math.min(i, rowCount() - 1));
  scrollToCurrent();
  paintKeys();
}

function setOpen(node, open) {
  if (open) keyList.open.add(node);
  else keyList.open.delete(node);
  listRows();
  paintKeys();
}

// Opens what lies above the array and goes there.
function reveal(array) {
  if (!hits.active) {
    for (let node = leafOf[array].parent; node; node = node.parent) keyList.open.add(node);
    listRows();
  }
  const row = rowOf(leafOf[array]);
  if (row >= 0) moveTo(row);
  else paintKeys();
}

function enterRow(row) {
  const { node } = row;
  if (node.array >= 0) {
    update({ selected: node.array });
  } else if (node.fold) {
    setOpen(node, !keyList.open.has(node));
  } else {
    setOpen(node, true);
    update({ zoom: node });
  }
}

// Left closes, or goes to what lies above; right opens, or goes inside.
function sideways(row, open) {
  if (row.flat) return;
  const { node } = row;
  if (node.array < 0 && keyList.open.has(node) !== open) {
    setOpen(node, open);
  } else if (open) {
    if (node.array < 0) moveTo(keyList.current + 1);
  } else {
    const above = rowOf(node.parent);
    if (above >= 0) moveTo(above);
  }
}

function keysKey(event) {
  const row = rowAt(keyList.current);
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = Math.max(1, Math.floor(keyList.height / rowHeight) - 1);
  const moves = {
    ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity,
  };
  if (event.key in moves) moveTo(keyList.current + moves[event.key]);
  else if (event.key === 'ArrowRight') sideways(row, true);
  else if (event.key === 'ArrowLeft') sideways(row, false);
  else if (event.key === 'Enter' || event.key === ' ') enterRow(row);
  else return;
  event.preventDefault();
}

function keysClick(event) {
  const element = event.target.closest('.row');
  if (!element) return;
  keyList.current = Number(element.id.slice(4));
  const row = rowAt(keyList.current);
  if (row.node.array >= 0) update({ selected: row.node.array });
  else setOpen(row.node, !keyList.open.has(row.node));
}

function startKeys() {
  const list = $('keys');
  openFirst();
  listRows();
  list.addEventListener('scroll', paintKeys);
  list.addEventListener('keydown', keysKey);
  list.addEventListener('click', keysClick);
  views.push((changed) => {
    if (changed.has('size')) {
      const before = keyList.height;
      [keyList.width, keyList.height] = [list.clientWidth, list.clientHeight];
      if (before !== keyList.height) scrollToCurrent();
      keyList.font = `13px ${getComputedStyle(list).fontFamily}`;
    }
    if (changed.has('hits')) {
      listRows();
      keyList.current = 0;
      list.scrollTop = 0;
      if (state.selected >= 0 && !hits.active) reveal(state.selected);
    }
    if (changed.has('selected') && state.selected >= 0) reveal(state.selected);
    else if (changed.has('hits') || changed.has('size') || changed.has('selected')) paintKeys();
    $('keys-note').textContent = hits.active
      ? `${countText(hits.list.length)} of ${countText(arrayCount)}` : countText(arrayCount);
  });
}
