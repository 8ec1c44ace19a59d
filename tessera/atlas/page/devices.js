// Memory of each device as a bar, with the part of the selected array in it.  Hosts stay together;
// what does not fit into one line goes on in the next.

const bars = { lines: [], step: 0, height: 0, lineHeight: 0, width: 0 };
const overBudget = new Set(data.over);
const isOver = (device) => overBudget.has(data.devices.id[device]);

function groupHosts() {
  const groups = [];
  data.devices.process.forEach((process, device) => {
    const last = groups[groups.length - 1];
    if (last && last.process === process) last.devices.push(device);
    else groups.push({ process, devices: [device] });
  });
  return groups;
}

// Bars as wide as the space allows, at least three pixels.
function layOutBars() {
  bars.width = Math.max(100, Math.floor($('devices').parentElement.clientWidth - 24));
  const groups = groupHosts();
  const gap = groups.length > 1 ? 4 : 0;
  const whole = (bars.width - gap * (groups.length - 1)) / deviceCount;
  bars.step = Math.min(Math.max(whole, 3), 160);
  bars.lines = [[]];
  let x = 0;
  const fits = (count) => x + count * bars.step <= bars.width + 0.01;
  for (const group of groups) {
    const length = group.devices.length;
    if (x > 0 && !fits(length) && length * bars.step <= bars.width) {
      bars.lines.push([]);
      x = 0;
    }
    for (const device of group.devices) {
      if (!fits(1)) {
        bars.lines.push([]);
        x = 0;
      }
      bars.lines[bars.lines.length - 1].push({ device, x });
      x += bars.step;
    }
    x += gap;
  }
  bars.height = bars.lines.length > 2 ? 34 : bars.lines.length > 1 ? 48 : 84;
  bars.lineHeight = bars.height + 16;
}

const fullScale =
  Math.max(data.budget ?? 0, data.devices.bytes.reduce((a, b) => Math.max(a, b), 1)) * 1.04;

function paintBars() {
  const paint = prepareCanvas($('devices'), bars.width, bars.lines.length * bars.lineHeight);
  const form = state.selected < 0 ? -1 : data.form[state.selected];
  bars.lines.forEach((line, i) => {
    const base = i * bars.lineHeight + bars.height;
    for (const bar of line) paintBar(paint, bar, base, form);
    paintLineTexts(paint, line, base);
  });
}

function paintBar(paint, { device, x }, base, form) {
  const scale = bars.height / fullScale;
  const width = Math.max(1.5, bars.step - (bars.step > 5 ? 2 : 1));
  const height = Math.max(1, data.devices.bytes[device] * scale);
  const shown = device === shownDevice();
  if (shown && bars.step < 8) paintPointer(paint, x + width / 2, base);
  paint.fillStyle = colourText(mix(deviceColours[device], ground(), 0.35));
  paint.fillRect(x, base - height, width, height);
  if (isOver(device)) {
    const over = Math.max(2, (data.devices.bytes[device] - data.budget) * scale);
    paint.fillStyle = cssColour('--bad');
    paint.fillRect(x, base - height, width, over);
  }
  const part = form >= 0 && placementOf(form).block[device] >= 0 ? forms.device_bytes[form] : 0;
  if (part > 0) {
    const inner = Math.max(2, part * scale);
    paint.fillStyle = cssColour('--accent');
    paint.fillRect(x, base - inner, width, inner);
  }
  if (shown && bars.step >= 8) {
    paint.strokeStyle = cssColour('--mark');
    paint.lineWidth = 2;
    paint.strokeRect(x - 0.5, base - bars.height + 1, width + 1, bars.height);
  }
}

// An outline would hide a narrow bar.
function paintPointer(paint, x, base) {
  paint.fillStyle = cssColour('--mark');
  paint.beginPath();
  paint.moveTo(x, base + 1);
  paint.lineTo(x - 5, base + 9);
  paint.lineTo(x + 5, base + 9);
  paint.fill();
  paint.globalAlpha = 0.25;
  paint.fillRect(x - 4, base - bars.height, 8, bars.height);
  paint.globalAlpha = 1;
}

function paintLineTexts(paint, line, base) {
  paint.fillStyle = cssColour('--line');
  paint.fillRect(0, base, bars.width, 1);
  if (data.budget !== null) {
    const y = Math.round(base - (data.budget * bars.height) / fullScale) + 0.5;
    paint.strokeStyle = cssColour('--text');
    paint.lineWidth = 1;
    paint.setLineDash([5, 3]);
    paint.beginPath();
    paint.moveTo(0, y);
    paint.lineTo(bars.width, y);
    paint.stroke();
    paint.setLineDash([]);
  }
  paint.fillStyle = cssColour('--muted');
  paint.font = '10px system-ui, sans-serif';
  paint.textAlign = 'left';
  let free = 0;
  for (const { device, x } of line) {
    const text = barText(device, x === line[0].x);
    if (!text || x < free || isPointedAt(line, x)) continue;
    paint.fillText(text, x, base + 11);
    free = x + textWidth(paint, text) + 6;
  }
}

// The pointer to a narrow bar takes the place of a text.
const isPointedAt = (line, x) => bars.step < 8 &&
    line.some((bar) => bar.device === shownDevice() && bar.x > x - 8 && bar.x < x + 44);

// Under wide bars the device; under narrow ones the host, where it begins.
function barText(device, first) {
  if (bars.step >= 22) return `${data.devices.id[device]}`;
  const process = data.devices.process[device];
  const begins = device === 0 || data.devices.process[device - 1] !== process;
  if (data.processes.process.length > 1) return begins ? `host ${process}` : '';
  return first || data.devices.id[device] % 8 === 0 ? `${data.devices.id[device]}` : '';
}

function barAt(x, y) {
  const line = bars.lines[Math.floor(y / bars.lineHeight)];
  const bar = line && line.find((each) => x >= each.x && x < each.x + bars.step);
  return bar ? bar.device : -1;
}

function tellBar() {
  const device = shownDevice();
  const form = state.selected < 0 ? -1 : data.form[state.selected];
  let text = 'Choose a device: its shard and its chunks are shown in the array.';
  if (device >= 0) {
    text = `Device ${data.devices.id[device]}, host ${data.devices.process[device]}: ` +
        `${sizeText(data.devices.bytes[device])}`;
    if (data.budget !== null) {
      const rest = data.budget - data.devices.bytes[device];
      text += rest < 0 ? `, ${sizeText(-rest)} over budget` : `, ${sizeText(rest)} below budget`;
    }
    if (form >= 0 && placementOf(form).block[device] >= 0) {
      text += `; ${sizeText(forms.device_bytes[form])} of it the selected array`;
    }
    text += '.';
  }
  $('device-tells').textContent = text;
  const canvas = $('devices');
  canvas.setAttribute('aria-valuemin', 0);
  canvas.setAttribute('aria-valuemax', deviceCount - 1);
  canvas.setAttribute('aria-valuenow', Math.max(device, 0));
  canvas.setAttribute('aria-valuetext', device < 0 ? 'none' : text);
}

function devicesKey(event) {
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1,
    PageUp: 8, PageDown: -8, Home: -Infinity, End: Infinity };
  if (event.key in steps) {
    const to = (state.device < 0 ? -1 : state.device) + steps[event.key];
    update({ device: Math.max(0, Math.min(to, deviceCount - 1)), pointed: -1 });
    scrollToBar();
  } else if (event.key === 'Escape' && state.device >= 0) {
    update({ device: -1, pointed: -1 });
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

function scrollToBar() {
  const line = bars.lines.findIndex((each) => each.some((bar) => bar.device === state.device));
  const place = $('devices').parentElement;
  const top = line * bars.lineHeight;
  if (top < place.scrollTop) place.scrollTop = top;
  if (top + bars.lineHeight > place.scrollTop + place.clientHeight) {
    place.scrollTop = top + bars.lineHeight - place.clientHeight + 8;
  }
}

function startDevices() {
  const canvas = $('devices');
  const most = data.devices.bytes.reduce((a, b) => Math.max(a, b), 0);
  const least = data.devices.bytes.reduce((a, b) => Math.min(a, b), most);
  const range = least === most ? `${sizeText(most)} each`
    : `${sizeText(least)} to ${sizeText(most)}`;
  $('devices-note').textContent = data.budget === null ? range
    : `${range}, budget ${sizeText(data.budget)}` +
      (data.over.length > 0 ? `, ${countText(data.over.length)} over` : '');
  canvas.addEventListener('pointermove', (event) => {
    if (event.pointerType !== 'touch') update({ pointed: barAt(event.offsetX, event.offsetY) });
  });
  canvas.addEventListener('pointerleave', () => update({ pointed: -1 }));
  canvas.addEventListener('click', (event) => {
    const device = barAt(event.offsetX, event.offsetY);
    update({ device: device === state.device ? -1 : device, pointed: -1 });
  });
  canvas.addEventListener('keydown', devicesKey);
  views.push((changed) => {
    if (changed.has('size')) layOutBars();
    if (['size', 'theme', 'selected', 'device', 'pointed'].some((field) => changed.has(field))) {
      paintBars();
      tellBar();
    }
  });
}
