// Colours.  The scales grow in lightness, and neighbours of the palette differ in it, so that
// people who see fewer hues can tell them apart as well.

const palette = [
  '#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b5a82e', '#7a5fb5',
];
const deviceScale = ['#34418f', '#2f69a8', '#2c8cab', '#3dab98', '#7cc47b', '#bdd564', '#f4e26a'];
const heatLight = ['#f1ece2', '#f5d5a4', '#ee9f63', '#d96443', '#ac2c3a', '#6b1c3c'];
const heatDark = ['#34373f', '#5d3542', '#963a42', '#cf6042', '#efa35a', '#fce6a8'];

let dark = false;

const parseColour = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
const colourText = (rgb) => `rgb(${rgb.map(Math.round).join(' ')})`;
const mix = (a, b, part) => a.map((value, i) => value + (b[i] - value) * part);

// `at` from 0 to 1.
function scaleColour(scale, at) {
  const place = Math.min(Math.max(at, 0), 1) * (scale.length - 1);
  const low = Math.min(Math.floor(place), scale.length - 2);
  return mix(parseColour(scale[low]), parseColour(scale[low + 1]), place - low);
}

const ground = () => (dark ? [27, 30, 35] : [255, 255, 255]);
const grey = () => (dark ? [84, 91, 102] : [188, 193, 200]);

// The n-th of things that have no order.  After one round of the palette the shades change.
function kindColour(number) {
  const base = parseColour(palette[number % palette.length]);
  const round = Math.floor(number / palette.length) % 3;
  const shade = [base, mix(base, [255, 255, 255], 0.4), mix(base, [0, 0, 0], 0.35)][round];
  return mix(shade, ground(), 0.22);
}
const heatColour = (at) => scaleColour(dark ? heatDark : heatLight, at);
// Neighbours are alike, which shows how a mesh lies in an array.
const deviceColours = data.devices.id.map((_, device) =>
  scaleColour(deviceScale, device / Math.max(deviceCount - 1, 1)));

// Black or white, whichever reads better.
function inkOn(rgb) {
  const [r, g, b] = rgb.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? '#14171b' : '#ffffff';
}

// Colours of the style sheet, by name.  Asking for one makes the browser work out all styles, so
// that they are kept until the theme changes.
const themeColours = new Map();
function cssColour(name) {
  if (!themeColours.has(name)) {
    themeColours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name));
  }
  return themeColours.get(name);
}

// What the map is coloured by: a colour for each form, and the legend.
const colourings = {
  rule() {
    const used = [...new Set(forms.rule)].sort((a, b) => a - b);
    return {
      of: (form) => (forms.rule[form] < 0 ? grey() : kindColour(forms.rule[form])),
      entries: used.map((rule) => ({
        colour: rule < 0 ? grey() : kindColour(rule),
        text: rule < 0 ? 'no rule' : data.rules.pattern[rule],
      })),
    };
  },
  dtype() {
    return {
      of: (form) => kindColour(forms.dtype[form]),
      entries: data.dtypes.map((name, i) => ({ colour: kindColour(i), text: name })),
    };
  },
  amplification: () => scaleColouring(amplification, 'decoded per wanted byte'),
  replication: () => scaleColouring(replication, 'devices per element'),
};

// By ratio: from twice to four times is as far as from once to twice.
function scaleColouring(valueOf, about) {
  const values = forms.shape.map((_, form) => valueOf(form));
  const most = values.reduce((a, b) => Math.max(a, b), 1);
  const at = (value) => (most <= 1 ? 0 : Math.log(Math.max(value, 1)) / Math.log(most));
  return {
    of: (form) => heatColour(at(values[form])),
    ramp: { from: '1', to: most <= 1 ? '1' : most.toFixed(most < 10 ? 2 : 0), about },
  };
}

const rampStyle = () =>
  `linear-gradient(to right, ${(dark ? heatDark : heatLight).join(', ')})`;

function rampEntry({ from, to, about }) {
  const bar = make('i', { class: 'ramp' });
  bar.style.background = rampStyle();
  return make('span', {}, from, bar, `${to}  ${about}`);
}
function swatchEntry({ colour, text }) {
  const swatch = make('i', { class: 'swatch' });
  swatch.style.background = colourText(colour);
  return make('span', {}, swatch, make('span', { class: 'text' }, text));
}
