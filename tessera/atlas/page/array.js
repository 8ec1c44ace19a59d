// The panel of the selected array: which dimensions are drawn, and the numbers.

function showArray() {
  const chosen = state.selected >= 0;
  $('array-hint').hidden = chosen;
  $('array-body').hidden = !chosen;
  $('array-key').textContent = chosen ? data.keys[state.selected] : '';
  if (!chosen) return;
  const form = data.form[state.selected];
  if (form !== grid.form) {
    grid.form = form;
    [grid.rows, grid.columns] = chooseDimensions(form);
    grid.at = forms.shape[form].map(() => 0);
  }
  showSlice(form);
  showFacts(form);
  showGridTexts(form);
  paintGrid();
  tellDevice(form);
}

// Which dimensions are rows and columns, and the place along the others.
function showSlice(form) {
  const rank = forms.shape[form].length;
  const parts = [];
  if (rank > 2) {
    parts.push(dimensionChoice(form, 'rows', 'Rows'), dimensionChoice(form, 'columns', 'Columns'));
    for (let d = 0; d < rank; ++d) {
      if (d !== grid.rows && d !== grid.columns) parts.push(slider(form, d));
    }
  }
  $('slice').replaceChildren(...parts.filter((part) => part !== null));
}

function dimensionChoice(form, role, name) {
  const other = role === 'rows' ? 'columns' : 'rows';
  const select = make('select', { 'data-role': role });
  forms.shape[form].forEach((size, d) => {
    const option = make('option', { value: d }, `dim ${d} (${size})`);
    option.selected = d === grid[role];
    select.append(option);
  });
  select.addEventListener('change', () => {
    const d = Number(select.value);
    if (d === grid[other]) grid[other] = grid[role];
    grid[role] = d;
    showArray();
  });
  return make('label', {}, name, select);
}

// A dimension that is neither split nor in several chunks looks the same everywhere.
function slider(form, d) {
  const { size, parts, chunks } = dimension(form, d);
  const steps = Math.max(parts, chunks);
  if (steps <= 1) return null;
  const text = () => `at ${countText(indexAt(form, d))} of ${countText(size)}`;
  const tells = make('span', {}, text());
  const input = make('input', { type: 'range', min: 0, max: steps - 1, step: 1, 'data-dim': d });
  input.value = grid.at[d];
  input.addEventListener('input', () => {
    grid.at[d] = Number(input.value);
    tells.textContent = text();
    paintGrid();
    tellDevice(form);
  });
  return make('label', {}, `dim ${d}`, input, tells);
}

function showGridTexts(form) {
  $('grid-place').hidden = isEmpty(form);
  $('grid-columns').textContent = isEmpty(form) ? 'The array has no elements.'
    : axisText(form, grid.columns, '→') || 'One element.';
  $('grid-rows').textContent = isEmpty(form) ? '' : axisText(form, grid.rows, '↓');
  const legend = [];
  if (state.view === 'reads') {
    const bar = make('i', { class: 'ramp' });
    bar.style.background = rampStyle();
    legend.push(make('span', {}, '1×', bar,
      `${data.processes.process.length}× reads of a chunk`));
  } else {
    const bar = make('i', { class: 'ramp' });
    bar.style.background = `linear-gradient(to right, ${deviceScale.join(', ')})`;
    legend.push(make('span', {}, 'device ', `${data.devices.id[0]}`, bar,
      `${data.devices.id[deviceCount - 1]}`));
  }
  legend.push('dashed: chunks');
  const few = ['rows', 'columns'].some((role) => dimension(form, grid[role]).chunks * 5 >
      (role === 'rows' ? grid.height : grid.width) && grid.width > 0);
  if (few) legend.push('(too many to draw each)');
  $('grid-legend').replaceChildren(...legend);
  $('grid').setAttribute('aria-label', `Shard grid of ${data.keys[state.selected]}: ` +
      `${axisText(form, grid.rows, 'rows')} ${axisText(form, grid.columns, 'columns')}`);
}

function showFacts(form) {
  const placement = placementOf(form);
  const rule = forms.rule[form];
  const array = state.selected;
  const [stored, result] = [data.dtypes[forms.dtype[form]], data.dtypes[forms.result[form]]];
  const facts = [
    ['Shape', shapeText(forms.shape[form])],
    ['Dtype', stored === result ? stored : `${stored}, loaded as ${result}`],
    ['Bytes', `${sizeText(forms.bytes[form])}${storedText(array)}`],
    ['Chunks', `${countText(forms.chunks[form])} of ${shapeText(forms.chunk[form])}, ` +
        `codec ${data.codecs[forms.codec[form]]}`],
    ['Spec', make('code', {}, placement.spec)],
    ['Rule', rule < 0 ? 'none' : ruleLink(rule)],
    ['Shards', `${shapeText(forms.shard[form])}, each on ${manyText(replication(form), 'device')}`],
    ['Per device', sizeText(forms.device_bytes[form])],
    ['Reads', `${manyText(forms.requests[form], 'request')}, ${sizeText(data.read[array])}`],
    ['Chunks per host', hostChunksText(form)],
    ['Amplification', `${timesText(amplification(form))}: ` +
        `${sizeText(forms.decoded[form])} decoded for ${sizeText(forms.wanted[form])}`],
  ];
  $('facts').replaceChildren(...facts.flatMap(([name, value]) =>
    [make('dt', {}, name), make('dd', {}, value)]));
  $('corrections').replaceChildren(...forms.corrections[form].map((text) =>
    make('li', {}, `Corrected: ${text}`)));
}

const storedText = (array) =>
  (data.stored[array] < 0 ? '' : `, ${sizeText(data.stored[array])} stored`);
function hostChunksText(form) {
  const [least, most] = [forms.least_parts[form], forms.most_parts[form]];
  return least === most ? countText(most) : `${countText(least)} to ${countText(most)}`;
}
function ruleLink(rule) {
  return make('button', { type: 'button', class: 'link mono', title: 'Show all arrays of this rule',
    onclick: () => update({ rule }) }, `${rule}: ${data.rules.pattern[rule]}`);
}

// Goes where the chosen device has its shard.
function followDevice() {
  if (state.device < 0 || state.selected < 0) return;
  const form = data.form[state.selected];
  const shard = shardOf(form, state.device);
  if (!shard || isEmpty(form)) return;
  shard.forEach((part, d) => {
    if (d === grid.rows || d === grid.columns || isInPart(form, part, d)) return;
    const { size, parts, chunks } = dimension(form, d);
    grid.at[d] = Math.floor(((part.from + part.to) / 2 / size) * Math.max(parts, chunks));
  });
  showSlice(form);
}
const isInPart = (form, part, d) => indexAt(form, d) >= part.from && indexAt(form, d) < part.to;

function startArray() {
  const canvas = $('grid');
  canvas.addEventListener('pointermove', (event) => tellPlace(gridPlace(event)));
  canvas.addEventListener('pointerleave', () => tellDevice(data.form[state.selected]));
  canvas.addEventListener('click', (event) => {
    const { form, row, column } = gridPlace(event);
    const [rows, columns] = [dimension(form, grid.rows), dimension(form, grid.columns)];
    const block = blockAt(form, Math.floor(row / rows.block), Math.floor(column / columns.block));
    const { devices } = holders(placementOf(form))[block];
    // Again on the same cell: the next replica, and after the last one none.
    const next = devices.indexOf(state.device) + 1;
    update({ device: next < devices.length ? devices[next] : -1 });
  });
  for (const button of $('view').children) {
    button.addEventListener('click', () => update({ view: button.dataset.view }));
    button.addEventListener('keydown', (event) => {
      if (!(event.key in arrows)) return;
      const other = state.view === 'shards' ? 'reads' : 'shards';
      update({ view: other });
      $('view').querySelector(`[data-view=${other}]`).focus();
      event.preventDefault();
    });
  }
  views.push((changed) => {
    for (const button of $('view').children) {
      const chosen = button.dataset.view === state.view;
      button.setAttribute('aria-checked', chosen);
      button.tabIndex = chosen ? 0 : -1;
    }
    // The width of the place of the grid, asked for while nothing else changes.
    if (changed.has('size')) grid.place = Math.max(120, $('array-place').clientWidth - 24);
    if (['selected', 'view', 'size', 'theme'].some((field) => changed.has(field))) showArray();
    if (changed.has('device')) followDevice();
    if ((changed.has('device') || changed.has('pointed')) && state.selected >= 0) {
      paintGrid();
      tellDevice(data.form[state.selected]);
    }
  });
}
