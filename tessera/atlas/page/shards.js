// The selected array: its shards over its chunks, and who reads them.
//
// Where a shard lies comes with the data, as a block number for each device; here blocks and chunks
// only become intervals of indices.

const grid = { form: -1, rows: -1, columns: -1, at: [], place: 120, width: 0, height: 0 };

// Which devices and hosts have a block.
const holdersOf = new Map();
function holders(placement) {
  if (holdersOf.has(placement)) return holdersOf.get(placement);
  const blocks = placement.split.reduce((product, parts) => product * parts, 1);
  const of = Array.from({ length: blocks }, () => ({ devices: [], hosts: new Set() }));
  placement.block.forEach((block, device) => {
    if (block < 0) return;
    of[block].devices.push(device);
    of[block].hosts.add(data.devices.process[device]);
  });
  holdersOf.set(placement, of);
  return of;
}

const placementOf = (form) => data.placements[forms.placement[form]];

function blockNumber(split, coordinates) {
  return coordinates.reduce((number, at, d) => number * split[d] + at, 0);
}
function blockCoordinates(split, number) {
  const coordinates = new Array(split.length);
  for (let d = split.length - 1; d >= 0; --d) {
    coordinates[d] = number % split[d];
    number = Math.floor(number / split[d]);
  }
  return coordinates;
}

// Size, block size and chunk size of a dimension; one of length 1 where the array has none.
function dimension(form, d) {
  if (d < 0) return { size: 1, block: 1, chunk: 1, parts: 1, chunks: 1 };
  const [size, block, chunk] = [forms.shape[form][d], forms.shard[form][d], forms.chunk[form][d]];
  return { size, block, chunk, parts: placementOf(form).split[d], chunks: Math.ceil(size / chunk) };
}

// The two dimensions that tell most: those that are split, then those of several chunks, then long
// ones.
function chooseDimensions(form) {
  const rank = forms.shape[form].length;
  const order = [...Array(rank).keys()].sort((a, b) => {
    const [x, y] = [dimension(form, a), dimension(form, b)];
    return (y.parts > 1) - (x.parts > 1) || (y.chunks > 1) - (x.chunks > 1) || y.size - x.size ||
        a - b;
  });
  const chosen = order.slice(0, 2).sort((a, b) => a - b);
  return chosen.length === 2 ? chosen : [-1, chosen.length === 1 ? chosen[0] : -1];
}

function axisText(form, d, arrow) {
  if (d < 0) return '';
  const { size, parts, chunks } = dimension(form, d);
  const split = parts > 1 ? manyText(parts, 'shard') : 'not split';
  return `${arrow} dim ${d}: ${countText(size)}, ${split}, ${manyText(chunks, 'chunk')}`;
}

// Intervals along an axis, at most one for two pixels: where there are more, each stands for many.
function intervals(count, step, size, pixels) {
  const shown = Math.min(count, Math.max(1, Math.floor(pixels / 2)));
  return Array.from({ length: shown }, (_, i) => {
    const number = shown === count ? i : Math.floor(((i + 0.5) * count) / shown);
    const from = shown === count ? (i * step) / size : i / shown;
    const to = shown === count ? Math.min((i + 1) * step, size) / size : (i + 1) / shown;
    return { number, from: from * pixels, to: to * pixels };
  });
}

// The blocks that a chunk meets along a dimension: first and last.
function blocksOfChunk(form, d, number) {
  const { size, block, chunk } = dimension(form, d);
  const from = number * chunk;
  const last = Math.min(from + chunk, size) - 1;
  return [Math.floor(from / block), Math.floor(last / block)];
}

// The element of the dimensions that are not drawn.
function indexAt(form, d) {
  const { size, parts, chunks } = dimension(form, d);
  const steps = Math.max(parts, chunks);
  return Math.min(size - 1, Math.floor(((grid.at[d] + 0.5) * size) / steps));
}

// The hosts that read a chunk: those that hold one of the blocks that it meets.
function readersOf(form, ranges) {
  const placement = placementOf(form);
  const of = holders(placement);
  const hosts = new Set();
  const visit = (d, number) => {
    if (d === ranges.length) {
      for (const host of of[number].hosts) hosts.add(host);
      return;
    }
    const [first, last] = ranges[d];
    for (let b = first; b <= last; ++b) visit(d + 1, number * placement.split[d] + b);
  };
  visit(0, 0);
  return hosts;
}

// Per dimension, the range of blocks of the chunk at a cell of the grid.
function rangesAt(form, row, column) {
  return forms.shape[form].map((_, d) => {
    if (d === grid.rows) return blocksOfChunk(form, d, row);
    if (d === grid.columns) return blocksOfChunk(form, d, column);
    return blocksOfChunk(form, d, Math.floor(indexAt(form, d) / forms.chunk[form][d]));
  });
}

function blockAt(form, row, column) {
  const { split } = placementOf(form);
  return blockNumber(split, split.map((_, d) => {
    if (d === grid.rows) return row;
    if (d === grid.columns) return column;
    return Math.floor(indexAt(form, d) / forms.shard[form][d]);
  }));
}

// Chunks in equal ranges of blocks have the same readers, so that each pair of ranges is counted
// once.
function readCounter(form) {
  const known = new Map();
  return (row, column) => {
    const ranges = rangesAt(form, row, column);
    const key = ranges.join();
    if (!known.has(key)) known.set(key, readersOf(form, ranges).size);
    return known.get(key);
  };
}

// What a device has: per dimension the indices of its shard, and of the chunks it needs.
function shardOf(form, device) {
  const placement = placementOf(form);
  const block = placement.block[device];
  if (block === undefined || block < 0) return null;
  const at = blockCoordinates(placement.split, block);
  return at.map((number, d) => {
    const { size, block: length, chunk } = dimension(form, d);
    const [from, to] = [number * length, (number + 1) * length];
    const [first, end] = [Math.floor(from / chunk), Math.ceil(to / chunk)];
    return { number, from, to, chunks: end - first, readFrom: first * chunk,
      readTo: Math.min(end * chunk, size) };
  });
}
const isEmpty = (form) => forms.shape[form].some((size) => size === 0);

function deviceListText(devices, most) {
  const ids = devices.slice(0, most).map((device) => data.devices.id[device]).join(', ');
  return devices.length > most ? `${ids}, … (${devices.length})` : ids;
}
