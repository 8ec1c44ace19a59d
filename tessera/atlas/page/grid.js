// Painting the grid of the selected array, and what it tells about the place under the pointer.

function gridSize(form) {
  const width = grid.place;
  const [rows, columns] = [dimension(form, grid.rows), dimension(form, grid.columns)];
  if (grid.rows < 0) return [width, 64];
  const ratio = Math.min(Math.max(rows.size / columns.size, 0.3), 0.64);
  return [width, Math.round(Math.max(width * ratio, 90))];
}

function paintGrid() {
  const form = state.selected < 0 ? -1 : data.form[state.selected];
  if (form < 0 || isEmpty(form)) return;
  [grid.width, grid.height] = gridSize(form);
  $('grid-place').style.height = `${grid.height}px`;
  const paint = prepareCanvas($('grid'), grid.width, grid.height);
  paint.textBaseline = 'middle';
  paint.textAlign = 'center';
  paint.font = '11px system-ui, sans-serif';
  // Texts come back, to be written above the lines.
  const labels = state.view === 'reads' ? paintReads(paint, form) : paintShards(paint, form);
  paintShardLines(paint, form);
  paintChunkLines(paint, form);
  for (const label of labels) paintGridLabel(paint, label);
  const device = shownDevice();
  if (device >= 0) paintDevice(paint, form, device);
}

function gridIntervals(form, of) {
  const [rows, columns] = [dimension(form, grid.rows), dimension(form, grid.columns)];
  const [count, step] = of === 'chunks' ? ['chunks', 'chunk'] : ['parts', 'block'];
  return [intervals(rows[count], rows[step], rows.size, grid.height),
    intervals(columns[count], columns[step], columns.size, grid.width)];
}

function paintShards(paint, form) {
  const of = holders(placementOf(form));
  const [rows, columns] = gridIntervals(form, 'shards');
  const labels = [];
  for (const row of rows) {
    for (const column of columns) {
      const { devices } = of[blockAt(form, row.number, column.number)];
      const [w, h] = [column.to - column.from, row.to - row.from];
      const cell = { x: column.from, y: row.from, w, h };
      labels.push(...paintShard(paint, cell, devices));
    }
  }
  return labels;
}

// A block in the colour of its first device; below it a strip with all that hold it.
function paintShard(paint, cell, devices) {
  const rgb = deviceColours[devices[0]];
  paint.fillStyle = colourText(rgb);
  paint.fillRect(cell.x, cell.y, cell.w + 0.5, cell.h + 0.5);
  const strip = devices.length > 1 && cell.h >= 14 && cell.w >= 6 ? Math.min(10, cell.h / 4) : 0;
  if (strip > 0) {
    const shown = Math.min(devices.length, Math.floor(cell.w / 2));
    const top = cell.y + cell.h - strip;
    for (let i = 0; i < shown; ++i) {
      const device = devices[Math.floor((i * devices.length) / shown)];
      paint.fillStyle = colourText(deviceColours[device]);
      paint.fillRect(cell.x + (i * cell.w) / shown, top, cell.w / shown + 0.5, strip);
    }
    paint.fillStyle = colourText(ground());
    paint.fillRect(cell.x, top - 1, cell.w, 1);
  }
  return shardLabels(paint, cell, strip, devices, rgb);
}

function shardLabels(paint, cell, strip, devices, rgb) {
  const height = cell.h - strip;
  if (cell.w < 14 || height < 12) return [];
  const [x, y] = [cell.x + cell.w / 2, cell.y + height / 2];
  const room = cell.w - 6;
  const text = [devices.length, 4, 2, 1]
    .map((most) => deviceListText(devices, most))
    .find((each) => textWidth(paint, each) <= room);
  const first = text || fitText(paint, `${data.devices.id[devices[0]]}`, room);
  const many = devices.length > 1 && height >= 30;
  const labels = first ? [{ text: first, rgb, x, y: many ? y - 7 : y }] : [];
  const copies = `×${devices.length}`;
  if (many && textWidth(paint, copies) <= room) labels.push({ text: copies, rgb, x, y: y + 8 });
  return labels;
}

function paintReads(paint, form) {
  const labels = [];
  const count = readCounter(form);
  const [rows, columns] = gridIntervals(form, 'chunks');
  const hosts = Math.max(data.processes.process.length, 1);
  const texts = new Map();
  for (const row of rows) {
    for (let i = 0; i < columns.length; ) {
      const reads = count(row.number, columns[i].number);
      const from = columns[i].from;
      const rgb = readColour(reads, hosts);
      if (!texts.has(reads)) texts.set(reads, colourText(rgb));
      const wide = columns[i].to - from >= 24 && row.to - row.from >= 13;
      // Runs of narrow chunks that are read alike are one rectangle.
      const isAlike = (at) =>
        !wide && at < columns.length && count(row.number, columns[at].number) === reads;
      let end = i + 1;
      while (isAlike(end)) ++end;
      const to = columns[end - 1].to;
      paint.fillStyle = texts.get(reads);
      paint.fillRect(from, row.from, to - from + 0.5, row.to - row.from + 0.5);
      const [x, y] = [(from + to) / 2, (row.from + row.to) / 2];
      if (wide) labels.push({ text: `${reads}×`, rgb, x, y });
      i = end;
    }
  }
  return labels;
}

// With a rim in the colour of the ground, which keeps lines off the letters.
function paintGridLabel(paint, { text, rgb, x, y }) {
  paint.lineWidth = 5;
  paint.lineJoin = 'round';
  paint.strokeStyle = colourText(rgb);
  paint.strokeText(text, x, y);
  paint.fillStyle = inkOn(rgb);
  paint.fillText(text, x, y);
}

const readColour = (reads, hosts) =>
  heatColour(reads === 0 || hosts <= 1 ? 0 : 0.12 + (0.88 * Math.log(reads)) / Math.log(hosts));

function lines(paint, form, of, least) {
  const [rows, columns] = [dimension(form, grid.rows), dimension(form, grid.columns)];
  const [count, step] = of === 'chunks' ? ['chunks', 'chunk'] : ['parts', 'block'];
  paint.beginPath();
  if (columns[count] * least <= grid.width) {
    for (let i = 1; i < columns[count]; ++i) {
      const x = Math.round((i * columns[step] * grid.width) / columns.size) + 0.5;
      paint.moveTo(x, 0);
      paint.lineTo(x, grid.height);
    }
  }
  if (rows[count] * least <= grid.height) {
    for (let i = 1; i < rows[count]; ++i) {
      const y = Math.round((i * rows[step] * grid.height) / rows.size) + 0.5;
      paint.moveTo(0, y);
      paint.lineTo(grid.width, y);
    }
  }
  paint.stroke();
}

function paintShardLines(paint, form) {
  paint.setLineDash([]);
  paint.lineWidth = 2;
  paint.strokeStyle = colourText(ground());
  lines(paint, form, 'shards', 5);
}

function paintChunkLines(paint, form) {
  paint.lineWidth = 1;
  paint.setLineDash([3, 3]);
  paint.strokeStyle = 'rgb(0 0 0 / 0.62)';
  lines(paint, form, 'chunks', 5);
  paint.lineDashOffset = 3;
  paint.strokeStyle = 'rgb(255 255 255 / 0.62)';
  lines(paint, form, 'chunks', 5);
  paint.lineDashOffset = 0;
  paint.setLineDash([]);
}

// Dims all but the chunks of a device; hatches what it reads and does not hold.
function paintDevice(paint, form, device) {
  const shard = shardOf(form, device);
  if (!shard || !isInSlice(form, shard)) return;
  const span = (d, from, to, size, pixels) => (d < 0 ? [0, pixels]
    : [(shard[d][from] * pixels) / size, (shard[d][to] * pixels) / size]);
  const [rows, columns] = [dimension(form, grid.rows), dimension(form, grid.columns)];
  const [x0, x1] = span(grid.columns, 'from', 'to', columns.size, grid.width);
  const [y0, y1] = span(grid.rows, 'from', 'to', rows.size, grid.height);
  const [rx0, rx1] = span(grid.columns, 'readFrom', 'readTo', columns.size, grid.width);
  const [ry0, ry1] = span(grid.rows, 'readFrom', 'readTo', rows.size, grid.height);
  paint.save();
  paint.beginPath();
  paint.rect(0, 0, grid.width, grid.height);
  paint.rect(rx0, ry0, rx1 - rx0, ry1 - ry0);
  paint.clip('evenodd');
  paint.fillStyle = dark ? 'rgb(27 30 35 / 0.72)' : 'rgb(255 255 255 / 0.72)';
  paint.fillRect(0, 0, grid.width, grid.height);
  paint.restore();
  hatch(paint, [rx0, ry0, rx1 - rx0, ry1 - ry0], [x0, y0, x1 - x0, y1 - y0]);
  paint.strokeStyle = cssColour('--mark');
  paint.lineWidth = 1;
  paint.strokeRect(rx0 + 0.5, ry0 + 0.5, Math.max(rx1 - rx0 - 1, 1), Math.max(ry1 - ry0 - 1, 1));
  paint.lineWidth = 3;
  paint.strokeRect(x0 + 1.5, y0 + 1.5, Math.max(x1 - x0 - 3, 1), Math.max(y1 - y0 - 3, 1));
}

function hatch(paint, outer, inner) {
  paint.save();
  paint.beginPath();
  paint.rect(...outer);
  paint.rect(...inner);
  paint.clip('evenodd');
  paint.fillStyle = dark ? 'rgb(27 30 35 / 0.4)' : 'rgb(255 255 255 / 0.4)';
  paint.fillRect(...outer);
  paint.strokeStyle = dark ? 'rgb(255 255 255 / 0.6)' : 'rgb(0 0 0 / 0.5)';
  paint.lineWidth = 1;
  paint.beginPath();
  const [x, y, w, h] = outer;
  for (let at = -h; at < w; at += 6) {
    paint.moveTo(x + at, y + h);
    paint.lineTo(x + at + h, y);
  }
  paint.stroke();
  paint.restore();
}

function isInSlice(form, shard) {
  return shard.every((part, d) => d === grid.rows || d === grid.columns ||
      (indexAt(form, d) >= part.from && indexAt(form, d) < part.to));
}

// Element index under a pixel, per dimension that is drawn.
function gridPlace(event) {
  const form = data.form[state.selected];
  const at = (d, pixel, pixels) => {
    const { size } = dimension(form, d);
    return Math.min(size - 1, Math.max(0, Math.floor((pixel * size) / pixels)));
  };
  return { form, row: at(grid.rows, event.offsetY, grid.height),
    column: at(grid.columns, event.offsetX, grid.width) };
}

function tellPlace({ form, row, column }) {
  const [rows, columns] = [dimension(form, grid.rows), dimension(form, grid.columns)];
  const block = blockAt(form, Math.floor(row / rows.block), Math.floor(column / columns.block));
  const { devices } = holders(placementOf(form))[block];
  const chunkRow = Math.floor(row / rows.chunk);
  const chunkColumn = Math.floor(column / columns.chunk);
  const hosts = readersOf(form, rangesAt(form, chunkRow, chunkColumn));
  const chunk = forms.shape[form].map((_, d) => (d === grid.rows ? chunkRow
    : d === grid.columns ? chunkColumn : Math.floor(indexAt(form, d) / forms.chunk[form][d])));
  $('grid-tells').textContent = `Shard on device${devices.length === 1 ? '' : 's'} ` +
      `${deviceListText(devices, 8)}. Chunk (${chunk.join(', ')}) is read by ` +
      `${manyText(hosts.size, 'host')}.`;
}

function tellDevice(form) {
  const device = shownDevice();
  const tells = $('grid-tells');
  if (device < 0 || isEmpty(form)) {
    tells.textContent = 'Point at a cell, or choose a device to see its shard and its chunks.';
    return;
  }
  const shard = shardOf(form, device);
  const who = `Device ${data.devices.id[device]} on host ${data.devices.process[device]}`;
  if (!shard) {
    tells.textContent = `${who} holds nothing of this array.`;
    return;
  }
  const box = shard.map((part) => `${part.from}:${part.to}`).join(', ');
  const chunks = shard.reduce((product, part) => product * part.chunks, 1);
  const elements = (from, to) =>
    shard.reduce((product, part) => product * (part[to] - part[from]), 1);
  const times = elements('readFrom', 'readTo') / Math.max(1, elements('from', 'to'));
  tells.textContent = `${who} holds [${box}], ${sizeText(forms.device_bytes[form])}; ` +
      `${manyText(chunks, 'chunk')} with ${timesText(times)} as many elements` +
      `${isInSlice(form, shard) ? '' : ', at another place of the dimensions that are not drawn'}.`;
}
