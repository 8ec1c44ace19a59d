// Puts the parts together: theme, search box, keys of the whole page, and the address.

// Changes that are no field of the state.
function notify(...fields) {
  const changed = new Set(fields);
  for (const view of views) view(changed);
}

const systemDark = window.matchMedia('(prefers-color-scheme: dark)');
let chosenTheme = '';  // else as the system has it

function applyTheme(theme) {
  dark = theme === 'dark';
  themeColours.clear();
  document.documentElement.dataset.theme = theme;
  $('theme').textContent = dark ? 'Light' : 'Dark';
  $('theme').setAttribute('aria-label', `Switch to the ${dark ? 'light' : 'dark'} theme`);
}
const wantedTheme = () => chosenTheme || (systemDark.matches ? 'dark' : 'light');
function showTheme(theme = wantedTheme()) {
  applyTheme(theme);
  notify('theme');
}

function startTheme() {
  applyTheme(wantedTheme());
  $('theme').addEventListener('click', () => {
    chosenTheme = dark ? 'light' : 'dark';
    showTheme();
  });
  systemDark.addEventListener('change', () => showTheme());
  // Paper is white.
  window.addEventListener('beforeprint', () => showTheme('light'));
  window.addEventListener('afterprint', () => showTheme());
}

function showHits() {
  const search = $('search');
  if (search.value !== state.query) search.value = state.query;
  search.setAttribute('aria-invalid', hits.error !== '');
  $('hits').textContent = hits.error || (!hits.active ? ''
    : `${countText(hits.list.length)} hit${hits.list.length === 1 ? '' : 's'}` +
      `${state.rule === null ? '' : state.rule < 0 ? ', no rule' : `, rule ${state.rule}`}`);
}

function startSearch() {
  const search = $('search');
  search.addEventListener('input', () => update({ query: search.value }));
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && hits.active && hits.list.length > 0) {
      update({ selected: hits.list[0] });
    } else if (event.key === 'ArrowDown') {
      $('keys').focus();
    } else {
      return;
    }
    event.preventDefault();
  });
  views.push((changed) => {
    if (!changed.has('query') && !changed.has('rule')) return;
    findHits();
    showHits();
    changed.add('hits');
  });
}

// Escape takes back one thing at a time: device, search, rule, zoom, selection.
function stepBack() {
  if (state.device >= 0) update({ device: -1 });
  else if (state.query || state.rule !== null) update({ query: '', rule: null });
  else if (state.zoom !== root) update({ zoom: zoomOut() });
  else if (state.selected >= 0) update({ selected: -1 });
}

function pageKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = ['INPUT', 'SELECT'].includes(event.target.tagName);
  if (event.key === '/' && !typing) {
    $('search').focus();
    $('search').select();
    event.preventDefault();
  } else if (event.key === 'Escape') {
    stepBack();
  }
}

// The address tells what is looked at, so that a view can be sent to others.
function hashText() {
  const fields = new URLSearchParams();
  if (state.selected >= 0) fields.set('key', data.keys[state.selected]);
  if (state.query) fields.set('q', state.query);
  if (state.rule !== null) fields.set('rule', state.rule);
  if (state.device >= 0) fields.set('device', data.devices.id[state.device]);
  if (state.zoom !== root) fields.set('zoom', keyOf(state.zoom));
  if (state.colour !== 'rule') fields.set('colour', state.colour);
  if (state.view !== 'shards') fields.set('view', state.view);
  return fields.toString();
}

function nodeOfKey(key, node = root) {
  if (node !== root && keyOf(node) === key) return node;
  for (const child of node.children) {
    const [text, found] = [keyOf(child), () => nodeOfKey(key, child)];
    if (child.array < 0 && (child.fold || key === text || key.startsWith(`${text}.`))) {
      const inside = found();
      if (inside) return inside;
    }
  }
  return null;
}

// A link may be old or made by hand: what the page does not have is left out.
function stateOfHash() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const rule = /^-?\d+$/.test(fields.get('rule') ?? '') ? Number(fields.get('rule')) : null;
  const known = rule === -1 || (rule !== null && rule < data.rules.pattern.length);
  return {
    // The largest array is as good a start as any, and shows what the page can do.
    selected: fields.has('key') ? arrayOfKey.get(fields.get('key')) ?? -1 : root.largest,
    query: fields.get('q') ?? '',
    rule: known ? rule : null,
    device: data.devices.id.indexOf(Number(fields.get('device') ?? NaN)),
    zoom: fields.has('zoom') ? nodeOfKey(fields.get('zoom')) ?? root : root,
    colour: Object.hasOwn(colourings, fields.get('colour') ?? '') ? fields.get('colour') : 'rule',
    view: fields.get('view') === 'reads' ? 'reads' : 'shards',
  };
}

let addressTimer = 0;
function startAddress() {
  window.addEventListener('hashchange', () => update(stateOfHash()));
  views.push((changed) => {
    $('colour').value = state.colour;
    if (!Object.keys(state).some((field) => field !== 'pointed' && changed.has(field))) return;
    clearTimeout(addressTimer);
    // Browsers complain about an address that changes with every letter.
    addressTimer = setTimeout(() => {
      const text = hashText();
      if (location.hash.slice(1) !== text) history.replaceState(null, '', `#${text}`);
    }, 200);
  });
}

function start() {
  startTheme();
  startSearch();
  startTables();
  startKeys();
  startMap();
  startArray();
  startDevices();
  startAddress();
  document.addEventListener('keydown', pageKey);
  Object.assign(state, { zoom: root }, stateOfHash());
  notify('size', 'theme', ...Object.keys(state));
  const sizes = new ResizeObserver(() => {
    const place = $('map-place').getBoundingClientRect();
    const same = Math.floor(place.width) === treemap.width &&
        Math.floor(place.height) === treemap.height && $('keys').clientHeight === keyList.height;
    if (!same) notify('size');
  });
  sizes.observe($('map-place'));
  sizes.observe($('keys'));
  performance.mark('atlas-ready');
}

// For the console: what the page holds, and where the map draws a key.
window.atlas = {
  data, state,
  boxOf(key) {
    const box = boxOfArray(arrayOfKey.get(key));
    return box && { x: box.x, y: box.y, w: box.w, h: box.h };
  },
};
start();
