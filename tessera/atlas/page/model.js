// The tree of keys.  Layers that are alike lie together in a fold; a chain of single children is
// one node with a longer name.

// layers.2 before layers.10.  Numbers, which are many, need no collator.
const collator = new Intl.Collator('en', { numeric: true });
function byName(a, b) {
  const [x, y] = [Number(a.name), Number(b.name)];
  return x === x && y === y ? x - y : collator.compare(a.name, b.name);
}
const isNumber = (text) => /^\d+$/.test(text);

function buildTree() {
  const root = makeNode('', null, -1);
  data.keys.forEach((key, array) => {
    const parts = splitKey(key);
    let node = root;
    for (let i = 0; i < parts.length - 1; ++i) node = branch(node, parts[i]);
    node.children.push(makeNode(parts[parts.length - 1], node, array));
  });
  finish(root, { ids: new Map() });
  root.name = 'all';
  return root;
}

// No deeper than functions can call themselves.
const mostLevels = 100;
function splitKey(key) {
  const parts = key.split('.');
  if (parts.length <= mostLevels) return parts;
  return [...parts.slice(0, mostLevels - 1), parts.slice(mostLevels - 1).join('.')];
}

// All nodes have the same fields of the same kinds from the start, which keeps engines fast; NaN
// says that sizes are not small integers.
function makeNode(name, parent, array) {
  return {
    name, parent, array, children: [], fold: false,
    bytes: NaN, count: 0,
    largest: -1,       // array below it
    alike: '',         // equal for nodes that have the same arrays below them
    first: 0, end: 0,  // of inOrder
    index: null,       // branches by name, while the tree is built
    bySize: null,      // children as the map draws them, once it does
  };
}

function branch(parent, name) {
  parent.index ??= new Map();
  let node = parent.index.get(name);
  if (node) return node;
  node = makeNode(name, parent, -1);
  parent.index.set(name, node);
  parent.children.push(node);
  return node;
}

// From the leaves up: totals, names of chains, order, folds.
function finish(node, known) {
  if (node.array >= 0) {
    node.bytes = forms.bytes[data.form[node.array]];
    node.count = 1;
    node.largest = node.array;
    node.alike = `${data.form[node.array]}`;
    return;
  }
  for (const child of node.children) finish(child, known);
  node.children = node.children.map((child) => joinChain(child, node));
  node.children.sort(byName);
  addUp(node);
  const text = node.children.map((child) => `${child.name}\n${child.alike}`).join('\n');
  if (!known.ids.has(text)) known.ids.set(text, `n${known.ids.size}`);
  node.alike = known.ids.get(text);
  node.children = foldAlike(node);
}

function joinChain(node, parent) {
  if (node.array >= 0 || node.children.length !== 1 || node.children[0].fold) return node;
  const only = node.children[0];
  only.name = `${node.name}.${only.name}`;
  only.parent = parent;
  return only;
}

function addUp(node) {
  node.bytes = 0;
  node.count = 0;
  node.largest = -1;
  let most = -1;
  for (const child of node.children) {
    node.bytes += child.bytes;
    node.count += child.count;
    const size = child.largest < 0 ? -1 : forms.bytes[data.form[child.largest]];
    if (size > most) [most, node.largest] = [size, child.largest];
  }
}

// A run of numbered children that have the same arrays below them becomes one node.
function foldAlike(node) {
  const parts = node.children.map((child) => {
    const dot = child.name.indexOf('.');
    const head = dot < 0 ? child.name : child.name.slice(0, dot);
    const rest = child.name.slice(head.length);
    return { child, head, mark: isNumber(head) ? `${rest}:${child.alike}` : '' };
  });
  const folded = [];
  for (let i = 0; i < parts.length; ) {
    let end = i + 1;
    while (end < parts.length && parts[i].mark && parts[end].mark === parts[i].mark) ++end;
    if (end - i < 3) end = i + 1;
    folded.push(end - i === 1 ? parts[i].child : makeFold(node, parts.slice(i, end)));
    i = end;
  }
  return folded;
}

function makeFold(parent, parts) {
  const [first, last] = [parts[0], parts[parts.length - 1]];
  const rest = first.child.name.slice(first.head.length);
  const fold = makeNode(`{${first.head}…${last.head}}${rest}`, parent, -1);
  fold.fold = true;
  fold.children = parts.map((part) => part.child);
  for (const child of fold.children) child.parent = fold;
  addUp(fold);
  return fold;
}

const root = buildTree();
const leafOf = new Array(arrayCount);
const inOrder = [];  // the arrays as the tree lists them
function collectLeaves(node) {
  node.first = inOrder.length;
  if (node.array >= 0) {
    leafOf[node.array] = node;
    inOrder.push(node.array);
  }
  for (const child of node.children) collectLeaves(child);
  node.end = inOrder.length;
}
collectLeaves(root);

// From the root down; folds are no part of a name.
function pathOf(node) {
  const path = [];
  for (let at = node; at; at = at.parent) if (!at.fold || at === node) path.push(at);
  return path.reverse();
}
const keyOf = (node) => pathOf(node).slice(1).map((at) => at.name).join('.');

// What the search box and the rules table leave over.
const lowerKeys = data.keys.map((key) => key.toLowerCase());
const hits = {
  active: false, list: [], error: '', pattern: null,
  before: new Uint32Array(arrayCount + 1),  // how many of the first arrays in order are hits
};
const hasHit = (node) => hits.before[node.end] > hits.before[node.first];

function findHits() {
  const query = state.query.trim();
  const regex = /^\/(.+?)\/?([iu]*)$/s.exec(query);
  hits.error = '';
  hits.pattern = null;
  let matches = null;
  if (regex) {
    try {
      const pattern = new RegExp(regex[1], regex[2]);
      hits.pattern = pattern;
      matches = (i) => pattern.test(data.keys[i]);
    } catch (error) {
      hits.error = 'not a regular expression';
      matches = () => false;
    }
  } else if (query && query !== '/') {
    const text = query.toLowerCase();
    matches = (i) => lowerKeys[i].includes(text);
  }
  hits.active = matches !== null || state.rule !== null;
  hits.list = [];
  inOrder.forEach((i, at) => {
    const hit = (!matches || matches(i)) &&
        (state.rule === null || forms.rule[data.form[i]] === state.rule);
    hits.before[at + 1] = hits.before[at] + (hit ? 1 : 0);
    if (hit) hits.list.push(i);
  });
}
