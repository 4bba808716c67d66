// The interactive layer. It unpacks the whole graph from the payload in this
// file and draws what is visible: see payload.go for the format and layout.go
// for the rules of drawing, which are the same here. It keeps no state outside
// this function, and finds everything from its own svg element, so that several
// copies can stand in one page. Until the payload is unpacked, and if anything
// is missing in the browser, the static layer stays as it is.
(async function () {
  'use strict';
  const svg = document.currentScript && document.currentScript.ownerSVGElement;
  const payload = svg && svg.querySelector('metadata');
  if (!payload || typeof DecompressionStream === 'undefined') return;

  const NS = 'http://www.w3.org/2000/svg';
  const HTML = 'http://www.w3.org/1999/xhtml';
  const standalone = document.documentElement === svg;
  const part = name => svg.querySelector('[data-ft=' + name + ']');

  // ---- The graph ---------------------------------------------------------

  async function inflate(base64) {
    const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  // reader reads the parts of the payload one after the other. Numbers beyond
  // 2^53 lose their last digits; `rough` then says so.
  function reader(bytes) {
    let at = 0;
    const r = { rough: false };
    r.uint = () => {
      let value = 0, factor = 1;
      for (;;) {
        const b = bytes[at++];
        value += (b & 127) * factor;
        if (b < 128) break;
        factor *= 128;
      }
      if (value > Number.MAX_SAFE_INTEGER) r.rough = true;
      return value;
    };
    r.text = () => {
      const n = r.uint();
      at += n;
      return new TextDecoder().decode(bytes.subarray(at - n, at));
    };
    r.column = (n, array) => {
      for (let i = 0; i < n; i++) array[i] = r.uint();
      return array;
    };
    return r;
  }

  function readFrames(r) {
    const strings = r.text().split('\n');
    const n = r.uint();
    const column = () => r.column(n, new Uint32Array(n));
    const [names, kinds, modules, files, lines] = [column(), column(), column(), column(), column()];
    return Array.from(names, (name, i) => ({
      name: strings[name], kind: kinds[i] & 7, inlined: kinds[i] > 7,
      module: strings[modules[i]], file: strings[files[i]], line: lines[i],
    }));
  }

  // readNodes returns the nodes as columns, in pre-order. Node 0 is the root.
  function readNodes(r) {
    const n = r.uint();
    const weights = r.uint();
    const ups = r.column(n - 1, new Uint32Array(n));
    const frame = new Int32Array(n);
    r.column(n - 1, frame.subarray(1));
    const self = r.column(n, new Float64Array(n));
    for (let w = 1; w < weights; w++) r.column(n, []);
    const parent = new Int32Array(n), depth = new Int32Array(n), end = new Int32Array(n);
    const total = Float64Array.from(self), start = new Float64Array(n);
    for (let i = 1; i < n; i++) {
      let p = i - 1;
      for (let up = ups[i - 1]; up > 0; up--) p = parent[p];
      parent[i] = p;
      depth[i] = depth[p] + 1;
    }
    for (let i = n - 1; i >= 0; i--) {
      if (!end[i]) end[i] = i + 1;
      if (i === 0) break;
      const p = parent[i];
      total[p] += total[i];
      if (!end[p]) end[p] = end[i];
    }
    const next = new Float64Array(n); // where the next child begins
    for (let i = 1; i < n; i++) {
      start[i] = next[i] = next[parent[i]];
      next[parent[i]] += total[i];
    }
    return { count: n, frame, parent, depth, end, self, total, start };
  }

  let meta, frames, nodes, rough;
  try {
    const r = reader(await inflate(payload.textContent.trim()));
    meta = JSON.parse(r.text());
    if (meta.version !== 1) return;
    frames = readFrames(r);
    nodes = readNodes(r);
    rough = r.rough;
  } catch (e) {
    return; // not readable: the static layer is all there is
  }
  const all = nodes.total[0];
  if (!(all > 0)) {
    if (standalone) {
      addEventListener('resize', center);
      center();
    }
    return;
  }
  const geo = meta.geometry;

  // ---- Text --------------------------------------------------------------

  const count = v => v.toLocaleString('en-US', { maximumFractionDigits: 0 });
  const percent = (part, whole) => (100 * part / whole).toFixed(2) + '%';

  function amount(v) {
    const { noun, steps } = meta.unit, about = rough ? '≈ ' : '';
    if (noun) return about + count(v) + ' ' + (v === 1 ? noun.replace(/s$/, '') : noun);
    const step = steps.find(s => v >= s.size) || steps[steps.length - 1];
    if (step.size === 1) return about + count(v) + ' ' + step.name;
    return about + (v / step.size).toFixed(2) + ' ' + step.name;
  }

  const nameOf = i => i === 0 ? 'all' : frames[nodes.frame[i]].name;

  // fit cuts a name to a width by counting characters; wide ones count twice.
  function fit(name, pixels) {
    const room = Math.floor((pixels - 2 * geo.labelPad) / geo.charWidth);
    if (room < 3) return '';
    let columns = 0, cut = 0, at = 0;
    for (const c of name) {
      const code = c.codePointAt(0);
      columns += code >= 0x1100 && code !== 0xfffd ? 2 : 1;
      at += c.length;
      if (columns <= room - 2) cut = at;
      if (columns > room) return name.slice(0, cut) + '..';
    }
    return name;
  }

  // ---- Elements ----------------------------------------------------------

  function make(parent, tag, attributes, text) {
    const e = document.createElementNS(NS, tag);
    for (const name in attributes) e.setAttribute(name, attributes[name]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  }

  const layer = part('frames'), hint = part('hint'), foot = part('foot');
  let width = svg.viewBox.baseVal.width; // of the whole picture
  let rows = 0;                          // never fewer than were needed once
  let view;                              // what is zoomed to
  let boxes = new Map();                 // what each drawn rect stands for
  let search = null;                     // what is searched for

  // A view is a range [from, to) of the total, and the deepest node that holds
  // all of it.
  const viewOf = i => ({ node: i, from: nodes.start[i], to: nodes.start[i] + nodes.total[i] });

  // ---- What to draw ------------------------------------------------------

  // plan returns the boxes of a view that are at least so many pixels wide.
  // Runs of narrower siblings become one box with the number of frames in it.
  function plan(v, minWidth) {
    const scale = (width - 2 * geo.pad) / (v.to - v.from);
    // Callers of a very deep view take most of the height: show the last few.
    const first = nodes.depth[v.node] > geo.maxRows / 2 ? nodes.depth[v.node] - 20 : 0;
    const out = { boxes: [], hidden: 0, hiddenWeight: 0, deeper: 0, rows: 0, first, minWidth };
    let bar = null;
    const add = (node, row, from, to, small) => {
      from = Math.max(from, v.from);
      to = Math.min(to, v.to);
      out.boxes.push({ node, row, from, to, x: (from - v.from) * scale, w: (to - from) * scale, small });
      out.rows = Math.max(out.rows, row + 1);
    };
    const flush = () => {
      if (bar && (bar.to - bar.from) * scale >= minWidth) {
        add(bar.parent, nodes.depth[bar.parent] + 1 - first, bar.from, bar.to, bar.count);
      }
      bar = null;
    };
    for (let i = 0; i < nodes.count;) {
      const from = nodes.start[i], to = from + nodes.total[i], row = nodes.depth[i] - first;
      if (to <= v.from || from >= v.to) {
        i = nodes.end[i];
      } else if (row >= geo.maxRows) {
        out.deeper += nodes.end[i] - i;
        i = nodes.end[i];
      } else if ((to - from) * scale < minWidth) {
        const parent = nodes.parent[i], n = nodes.end[i] - i;
        if (!bar || bar.parent !== parent) {
          flush();
          bar = { parent, from, count: 0 };
        }
        bar.to = to;
        bar.count += n;
        out.hidden += n;
        out.hiddenWeight += nodes.total[i];
        i = nodes.end[i];
      } else {
        flush();
        if (row >= 0) add(i, row, from, to, 0);
        i++;
      }
    }
    flush();
    return out;
  }

  function planToFit(v) {
    let p = plan(v, geo.minWidth);
    while (p.boxes.length > geo.maxElements) p = plan(v, p.minWidth * 2);
    return p;
  }

  // ---- Drawing -----------------------------------------------------------

  function draw() {
    const p = planToFit(view);
    resize(Math.max(rows, p.rows));
    const drawn = document.createDocumentFragment();
    boxes = new Map();
    for (const box of p.boxes) drawBox(drawn, box);
    layer.replaceChildren(drawn);
    describeView(p);
  }

  function drawBox(parent, box) {
    const row = meta.layout === 'icicle' ? box.row : rows - 1 - box.row;
    const x = geo.pad + box.x, y = geo.top + row * geo.rowStep;
    const rect = make(parent, 'rect', {
      x: x.toFixed(2), y, width: (box.w > 2 ? box.w - 0.7 : box.w).toFixed(2),
      height: geo.rowSize, rx: 2, cursor: 'pointer',
    });
    paint(rect, box);
    boxes.set(rect, box);
    const label = fit(box.small ? count(box.small) + ' small' : nameOf(box.node), box.w);
    if (label) {
      make(parent, 'text', { x: (x + geo.labelPad).toFixed(2), y: y + 12, 'pointer-events': 'none' }, label);
    }
  }

  const isMatch = box => box.small
    ? search.inRange(box)
    : box.node > 0 && search.frames[nodes.frame[box.node]] === 1;

  // paint colours a rect by kind. A search marks matches and dims the rest; a
  // zoom dims callers.
  function paint(rect, box) {
    const match = search && isMatch(box);
    const kind = box.node === 0 ? 4 : frames[nodes.frame[box.node]].kind;
    const caller = !box.small && box.node < view.node && nodes.end[box.node] > view.node;
    rect.setAttribute('fill', match ? '#FFDE3B' : box.small ? geo.colorSmall : meta.kinds[kind].color);
    rect.setAttribute('opacity', caller ? 0.55 : search && !match ? 0.45 : 1);
  }

  // resize sets the size of the picture to so many rows. In a flame layout the
  // root stays where it is on the screen when the picture grows upwards.
  function resize(n) {
    const grown = (n - rows) * geo.rowStep;
    const height = geo.top + n * geo.rowStep + geo.bottom;
    svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
    svg.setAttribute('width', width);
    svg.setAttribute('height', height);
    foot.setAttribute('y', height - geo.bottom + 22);
    if (rows && grown > 0 && standalone && meta.layout === 'flame') scrollBy(0, grown);
    rows = n;
  }

  // describeView writes the path to the zoomed frame, and what is not drawn.
  function describeView(p) {
    hint.replaceChildren();
    const path = [];
    for (let i = view.node; i > 0; i = nodes.parent[i]) path.unshift(i);
    const zoomed = view.from > 0 || view.to < all;
    crumb(0);
    if (path.length > 4) make(hint, 'tspan', { dx: 6 }, '› … ' + count(path.length - 4) + ' more');
    for (const i of path.slice(-4)) {
      make(hint, 'tspan', { dx: 6 }, '›');
      crumb(i, 6);
    }
    make(hint, 'tspan', { dx: 14 }, zoomed
      ? amount(view.to - view.from) + ' (' + percent(view.to - view.from, all) + ' of all) · Esc resets'
      : 'Click a frame to zoom in, press / to search.');
    resetButton.setAttribute('visibility', zoomed ? 'visible' : 'hidden');
    const parts = [];
    if (p.hidden) {
      parts.push(count(p.hidden) + ' frames narrower than ' + p.minWidth + ' px (' + percent(p.hiddenWeight, all) +
        ' of ' + amount(all) + ') are not drawn one by one: click a pale bar to see them.');
    }
    if (p.first) parts.push(count(p.first) + ' callers nearer to the root are not shown.');
    if (p.deeper) parts.push(count(p.deeper) + ' frames beyond level ' + geo.maxRows + ' are not drawn: zoom in to see them.');
    foot.textContent = parts.join(' ');
  }

  function crumb(i, dx) {
    const e = make(hint, 'tspan', { dx: dx || 0, fill: '#0b57a4', cursor: 'pointer' }, fit(nameOf(i), 36 * geo.charWidth));
    e.addEventListener('click', () => zoom(viewOf(i)));
  }

  function zoom(v) {
    if (!(v.to > v.from)) return;
    view = v;
    hideTip();
    draw();
    showMatched();
  }

  // ---- Tooltip -----------------------------------------------------------

  const tip = make(null, 'g', { 'pointer-events': 'none', 'font-family': layer.getAttribute('font-family') });

  function linesOf(box) {
    const weight = box.small ? box.to - box.from : nodes.total[box.node];
    const share = amount(weight) + ' (' + percent(weight, all) + ')';
    if (box.small) return [count(box.small) + ' frames too narrow to draw', share, 'Click to see them.'];
    const lines = [nameOf(box.node)];
    let figures = share;
    if (box.node > 0) {
      const f = frames[nodes.frame[box.node]];
      lines.push(meta.kinds[f.kind].name + (f.inlined ? ', inlined' : '') + (f.module ? ' · ' + f.module : ''));
      if (f.file) lines.push(f.file + (f.line ? ':' + f.line : ''));
      const self = nodes.self[box.node];
      figures += ', self ' + amount(self) + ' (' + percent(self, all) + ')';
    }
    lines.push(figures);
    if (view.to - view.from < all && weight <= view.to - view.from) {
      lines.push(percent(weight, view.to - view.from) + ' of the zoomed frame');
    }
    return lines;
  }

  // wrap breaks a long line, so that the whole name can be read.
  function wrap(line, columns) {
    const out = [];
    let chars = Array.from(line);
    for (; chars.length > columns && out.length < 11; chars = chars.slice(columns)) {
      out.push(chars.slice(0, columns).join(''));
    }
    out.push(chars.length > columns ? '… ' + count(chars.length) + ' more characters' : chars.join(''));
    return out;
  }

  function showTip(box, event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const columns = Math.min(120, Math.floor((width - 4 * geo.pad) / geo.charWidth));
    const lines = linesOf(box).flatMap(line => wrap(line, columns));
    const w = Math.max(...lines.map(l => Array.from(l).length)) * geo.charWidth + 20, h = lines.length * 17 + 12;
    const x = Math.max(4, Math.min(at.x + 14, width - w - 4));
    const below = at.y + 18, limit = svg.viewBox.baseVal.height;
    const y = below + h > limit ? Math.max(4, at.y - h - 10) : below;
    tip.replaceChildren();
    make(tip, 'rect', { x, y, width: w, height: h, rx: 5, fill: '#1b1f24', opacity: 0.95 });
    lines.forEach((line, i) => make(tip, 'text', {
      x: x + 10, y: y + 20 + i * 17, fill: '#fff', 'font-weight': i ? 400 : 700, 'xml:space': 'preserve',
    }, line));
    svg.appendChild(tip);
  }

  function hideTip() { tip.remove(); }

  // ---- Search ------------------------------------------------------------

  // compile returns a test for names. What is no regular expression is searched
  // for as it is.
  function compile(text) {
    try {
      const re = new RegExp(text, 'u');
      return { test: name => re.test(name), problem: '' };
    } catch (e) { /* perhaps only too strict */ }
    try {
      const re = new RegExp(text);
      return { test: name => re.test(name), problem: '' };
    } catch (e) {
      const why = String(e.message).replace(/^.*\/[a-z]*: /, '');
      return { test: name => name.includes(text), problem: 'Not a regular expression (' + why + '): searched as plain text.' };
    }
  }

  // startSearch marks the frames whose name matches. Each name is tested once,
  // and what is drawn stays: only its colours change.
  function startSearch(text) {
    if (!text) {
      search = null;
    } else {
      const { test, problem } = compile(text);
      const marks = new Int8Array(frames.length);
      const known = new Map();
      frames.forEach((f, i) => {
        if (!known.has(f.name)) known.set(f.name, test(f.name) ? 1 : 0);
        marks[i] = known.get(f.name);
      });
      const functions = Array.from(known.values()).reduce((sum, hit) => sum + hit, 0);
      search = { frames: marks, problem, functions, inRange: box => matched(box.node, box) > 0 };
    }
    boxes.forEach((box, rect) => paint(rect, box));
    showMatched();
  }

  // matched returns the weight within a range, below a node, of all stacks with
  // a match. What is below a match is not looked at: it is counted already.
  function matched(node, range) {
    let sum = 0;
    for (let i = node === 0 ? 1 : node; i < nodes.end[node];) {
      const from = nodes.start[i], to = from + nodes.total[i];
      if (to <= range.from || from >= range.to) {
        i = nodes.end[i];
      } else if (search.frames[nodes.frame[i]] && from >= range.from && to <= range.to) {
        sum += nodes.total[i];
        i = nodes.end[i];
      } else {
        i++;
      }
    }
    return sum;
  }

  function showMatched() {
    problem.textContent = search ? search.problem : '';
    if (!search) {
      result.textContent = '';
      return;
    }
    const sum = matched(0, { from: 0, to: all });
    let text = 'Matched: ' + percent(sum, all) + ' (' + amount(sum) + ', ' +
      count(search.functions) + (search.functions === 1 ? ' function)' : ' functions)');
    if (view.to - view.from < all) text += ' · here ' + percent(matchedInView(), view.to - view.from);
    result.textContent = text;
  }

  // matchedInView counts all of the view if one of its callers matches.
  function matchedInView() {
    for (let i = view.node; i > 0; i = nodes.parent[i]) {
      if (search.frames[nodes.frame[i]]) return view.to - view.from;
    }
    return matched(view.node, view);
  }

  // ---- Controls ----------------------------------------------------------

  function button(label, action) {
    const g = make(svg, 'g', { cursor: 'pointer', role: 'button' });
    const w = label.length * 6.6 + 24;
    make(g, 'rect', { width: w, height: 26, rx: 5, fill: '#f4f6f8', stroke: '#c3cad2' });
    make(g, 'text', { x: w / 2, y: 17, 'text-anchor': 'middle' }, label);
    g.addEventListener('click', action);
    return { g, w };
  }

  const { g: resetButton, w: resetWidth } = button('Reset zoom', () => zoom(viewOf(0)));
  const { g: searchButton, w: searchWidth } = button('Search ( / )', openSearch);
  // Beside the legend and the path, over them if there is no room.
  const line = (name, y, fill) => make(svg, 'text', {
    'data-ft': name, 'text-anchor': 'end', y, fill, 'font-size': 13, 'font-weight': 600,
    stroke: '#fff', 'stroke-width': 5, 'paint-order': 'stroke',
  });
  const result = line('matched', geo.top - geo.legend, '#1b1f24');
  const problem = line('problem', geo.top - geo.hint, '#b3261e');
  const boxWidth = 300;
  const holder = make(null, 'foreignObject', { y: 14, width: boxWidth, height: 30 });
  const input = document.createElementNS(HTML, 'input');
  input.setAttribute('type', 'text');
  input.setAttribute('placeholder', 'Regular expression, Esc to close');
  input.setAttribute('aria-label', 'Search functions by regular expression');
  input.setAttribute('spellcheck', 'false');
  Object.assign(input.style, {
    boxSizing: 'border-box', width: '100%', height: '28px', padding: '0 8px', font: '13px monospace',
    border: '1px solid #8a94a0', borderRadius: '5px', color: '#1b1f24', background: '#fff',
  });
  holder.appendChild(input);
  let pending = 0;
  input.addEventListener('input', () => {
    clearTimeout(pending);
    pending = setTimeout(() => startSearch(input.value), 80);
  });

  function openSearch() {
    svg.appendChild(holder);
    searchButton.setAttribute('visibility', 'hidden');
    input.focus();
    input.select();
  }

  function closeSearch() {
    clearTimeout(pending);
    holder.remove();
    input.value = '';
    searchButton.setAttribute('visibility', 'visible');
    startSearch('');
  }

  // place puts the controls at the right edge.
  function place() {
    const right = width - geo.pad;
    holder.setAttribute('x', right - boxWidth);
    result.setAttribute('x', right);
    problem.setAttribute('x', right);
    searchButton.setAttribute('transform', 'translate(' + (right - searchWidth) + ' 15)');
    resetButton.setAttribute('transform', 'translate(' + (right - boxWidth - 12 - resetWidth) + ' 15)');
  }

  // ---- Events ------------------------------------------------------------

  layer.addEventListener('click', event => {
    const box = boxes.get(event.target);
    if (box) zoom(box.small ? box : viewOf(box.node));
  });
  layer.addEventListener('pointermove', event => {
    const box = boxes.get(event.target);
    if (box) showTip(box, event); else hideTip();
  });
  layer.addEventListener('pointerleave', hideTip);

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter' && event.target === input) {
      clearTimeout(pending);
      startSearch(input.value);
    } else if (event.key === 'Escape') {
      if (holder.isConnected) closeSearch(); else zoom(viewOf(0));
    }
  }

  // The character, not the key: so it is not typed into the box that opens, and
  // keyboards that have it on another key work.
  function onCharacter(event) {
    if (event.key !== '/' || event.target === input || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    openSearch();
  }

  // A file of its own owns the window; a copy in a page only what it is asked.
  if (standalone) {
    addEventListener('keydown', onKey);
    addEventListener('keypress', onCharacter);
    addEventListener('resize', fill);
  } else {
    svg.setAttribute('tabindex', 0);
    svg.addEventListener('keydown', onKey);
    svg.addEventListener('keypress', onCharacter);
    svg.addEventListener('pointerdown', event => {
      if (event.target !== input) svg.focus({ preventScroll: true });
    });
  }

  // windowWidth is how wide the picture can be where it is not part of a page.
  function windowWidth() {
    return Math.max(640, svg.clientWidth && document.documentElement.clientWidth || innerWidth);
  }

  // center makes a picture without frames as wide as the window, as its text
  // stands in the middle.
  function center() {
    const w = windowWidth();
    svg.setAttribute('viewBox', '0 0 ' + w + ' ' + svg.viewBox.baseVal.height);
    svg.setAttribute('width', w);
  }

  // fill makes the picture as wide as the window.
  function fill() {
    if (standalone) width = windowWidth();
    place();
    draw();
  }

  view = viewOf(0);
  fill();
})();
