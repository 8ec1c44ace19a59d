// Totals, rules and warnings.

function showTotals() {
  const { totals } = data;
  const most = data.devices.bytes.reduce((a, b) => Math.max(a, b), 0);
  const peak = data.processes.peak.reduce((a, b) => Math.max(a, b), 0);
  const times = totals.wanted === 0 ? 1 : totals.decoded / totals.wanted;
  const tiles = [
    ['Arrays', countText(arrayCount)],
    ['Bytes', sizeText(totals.bytes)],
    ['Devices', countText(deviceCount)],
    ['Hosts', countText(data.hosts)],
    ['Most on a device', sizeText(most), data.over.length > 0],
    ['Balance', totals.balance.toFixed(3)],
    ['Read', sizeText(totals.read)],
    ['Requests', countText(totals.requests)],
    ['Amplification', timesText(times)],
    ['Peak of a host', sizeText(peak)],
  ];
  $('totals').replaceChildren(...tiles.map(([name, value, bad]) =>
    make('div', {}, make('dt', {}, name), make('dd', { class: bad ? 'bad' : '' }, value))));
}

function ruleState(rule) {
  if (data.rules.arrays[rule] > 0) return '';
  const by = data.rules.shadowed_by[rule];
  return by < 0 ? 'unused' : `shadowed by rule ${by}`;
}

function ruleRow(rule, name, spec, arrays, bytes, note) {
  const row = make('tr', { 'data-rule': rule, class: arrays === 0 ? 'idle' : '' });
  const choose = make('button', { type: 'button', class: 'link mono', 'aria-pressed': 'false',
    onclick: () => update({ rule: state.rule === rule ? null : rule }) }, name);
  const meter = make('i');
  meter.style.width = `${data.totals.bytes === 0 ? 0 : (100 * bytes) / data.totals.bytes}%`;
  const share = shareText(bytes, data.totals.bytes);
  const pattern = make('td', {}, choose);
  pattern.append(make('code', { class: 'below' }, spec));
  if (note) pattern.append(' ', make('span', { class: 'tag' }, note));
  row.append(make('td', { class: 'number' }, rule < 0 ? '' : `${rule}`), pattern,
    make('td', {}, make('code', {}, spec)), make('td', { class: 'number' }, countText(arrays)),
    make('td', { class: 'number' }, `${sizeText(bytes)}`),
    make('td', { class: 'share' }, make('span', { class: 'meter', title: share }, meter)));
  return row;
}

function showRules() {
  const { pattern, spec, arrays, bytes } = data.rules;
  const rows = pattern.map((name, rule) =>
    ruleRow(rule, name, spec[rule], arrays[rule], bytes[rule], ruleState(rule)));
  let [without, size] = [0, 0];
  data.form.forEach((form) => {
    if (forms.rule[form] >= 0) return;
    ++without;
    size += forms.bytes[form];
  });
  if (without > 0) rows.push(ruleRow(-1, 'no rule', 'P()', without, size, ''));
  $('rules').tBodies[0].replaceChildren(...rows);
  const idle = pattern.filter((_, rule) => arrays[rule] === 0).length;
  $('rules-note').textContent = manyText(pattern.length, 'rule') +
      (idle > 0 ? `, ${idle} of them decide nothing` : '');
}

function markRules() {
  for (const row of $('rules').tBodies[0].rows) {
    const rule = Number(row.dataset.rule);
    row.classList.toggle('chosen', rule === state.rule);
    row.querySelector('button').setAttribute('aria-pressed', rule === state.rule);
    const colour = rule < 0 ? grey() : kindColour(rule);
    row.querySelector('.meter i').style.background = colourText(colour);
  }
}

const arrayOfKey = new Map(data.keys.map((key, array) => [key, array]));

function warningItem(i) {
  const { key, detail } = data.warnings;
  const item = make('li');
  if (arrayOfKey.has(key[i])) {
    item.append(make('button', { type: 'button', class: 'link mono',
      onclick: () => update({ selected: arrayOfKey.get(key[i]) }) }, key[i]));
  } else if (key[i]) {
    item.append(make('code', {}, key[i]));
  }
  item.append(make('span', {}, detail[i]));
  return item;
}

// Some of each kind, and a button for the rest.
function warningGroup(kind, numbers) {
  const list = make('ul');
  const arrays = numbers.reduce((sum, i) => sum + data.warnings.arrays[i], 0);
  const about = arrays > 0 ? `: ${manyText(arrays, 'array')}` : '';
  const group = make('section', {}, make('h3', {}, `${kind.replaceAll('_', ' ')}${about}`), list);
  let shown = 0;
  const more = make('button', { type: 'button', class: 'link more' });
  const showMore = () => {
    const end = Math.min(numbers.length, shown + (shown === 0 ? 8 : 200));
    for (; shown < end; ++shown) list.append(warningItem(numbers[shown]));
    more.textContent = `${countText(numbers.length - shown)} more`;
    if (shown === numbers.length) more.remove();
  };
  more.addEventListener('click', showMore);
  group.append(more);
  showMore();
  return group;
}

function showWarnings() {
  const kinds = new Map();
  data.warnings.kind.forEach((kind, i) => {
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind).push(i);
  });
  const groups = [...kinds].map(([kind, numbers]) => warningGroup(kind, numbers));
  if (groups.length === 0) groups.push(make('p', { class: 'none note' }, 'Nothing to warn of.'));
  $('warnings').replaceChildren(...groups);
  $('warnings-note').textContent = countText(data.warnings.kind.length);
}

function startTables() {
  $('title').textContent = data.title;
  $('subtitle').textContent = `${data.format} · ${data.mesh}`;
  showTotals();
  showRules();
  showWarnings();
  views.push((changed) => {
    if (changed.has('rule') || changed.has('theme')) markRules();
  });
}
