  const layer = part('frames'), head = part('head'), hint = part('hint'), foot = part('foot');
  // Where the picture is not part of a page, seen is how wide the window is, and
  // windowWidth how wide the picture: narrow windows scroll sideways.
  const seen = () => root.clientWidth || innerWidth, windowWidth = () => max(640, seen());
  if (!layer) {
    // No samples: as wide as the window, as the text stands in the middle.
    const center = () => set(root, { width: windowWidth(), viewBox: `0 0 ${windowWidth()} ${root.viewBox.baseVal.height}` });
    if (standalone) {
      addEventListener('resize', center);
      center();
    }
    return;
  }

  // ---- Colours -----------------------------------------------------------

  const schemes = compared ? Object.keys(compared.schemes) : [];
  const colorings = [...schemes, 'kind', 'module', 'heat'];
  const coloring = () => colorings.includes(state.k) ? state.k : colorings[0];
  
  // largest are the modules that have a colour of their own.
  const largest = () => sums.largest ||= modules.first.map((f, m) => m)
    .filter(m => frames[modules.first[m]].module)
    .sort((a, b) => last(figures(modules).self)[b] - last(figures(modules).self)[a] || a - b).slice(0, ui.palette.length);

  // looks returns the colour of a frame and its marks.
  function look(t) {
    const f = frames[t.f], marks = [], how = coloring();
    let fill = ui.colors.group;
    if (compared) {
      const c = change(value(t, 0), value(t, 1)), scheme = compared.schemes[how];
      if (c.gone) marks.push('hatched');
      if (c.isNew) marks.push('new');
      if (scheme) {
        const size = abs(c.delta) / max(c.a, c.b);
        fill = c.real ? scheme[c.delta < 0 ? 'less' : 'more'][size >= 0.5 ? 0 : size >= 0.1 ? 1 : 2] : scheme.same;
      }
    }
    if (f) {
      const kind = ui.kinds[f.kind];
      if (how === 'kind') fill = kind.shades[hash(f.name) % 4];
      if (how === 'module' && f.kind < 4) fill = ui.palette[largest().indexOf(modules.of[t.f])] || ui.colors.other;
      if (how === 'heat') fill = ui.legends.heat.find(s => last(figures(functions).self)[functions.of[t.f]] / all >= s.min).color;
      if (kind.mark) marks.push(kind.mark);
      if (f.inlined) marks.push('inlined');
      if (ui.special[f.name]) marks.push('hatched');
    }
    return { fill, marks };
  }

  // showLegend replaces the legend of the static layer by that of another colouring,
  // and breaks it into rows where the window ends. What is above goes up.
  const legend = part('legend'), firstLegend = [...legend.childNodes];
  function showLegend() {
    const how = coloring();
    let entries = how === colorings[0] ? [] : ui.legends[how];
    if (how === 'module') {
      const { self } = figures(modules);
      entries = largest().map((m, i) => ({
        color: ui.palette[i], text: base(frames[modules.first[m]].module).slice(0, 24) + ' ' + percent(last(self)[m], all),
      })).concat({ color: ui.colors.other, text: 'others' });
    }
    let next = geo.pad, left = 0, down = 0;
    legend.replaceChildren(...entries.length ? [] : firstLegend);
    for (const { color, text } of entries) {
      legend.append(shape('g', {}, shape('rect', { x: next, y: geo.legend - 12, width: 14, height: 14, rx: 2, fill: color }),
        shape('text', { x: next + 19, y: geo.legend }, text)));
      next += 33 + 6.9 * text.length;
    }
    for (const entry of legend.children) {
      const { x, width } = entry.getBBox();
      if (x + width - left > width_ - geo.pad) {
        left = x - geo.pad;
        down += geo.step;
      }
      moveTo(entry, -left, down);
    }
    moveTo(legend, 0, -down);
    down += wrapped;
    moveTo(head, 0, -down);
    room_ = down + (head.firstChild.getComputedTextLength() + geo.toolbar > seen() ? 36 : 0);
  }

  const moveTo = (e, x, y) => set(e, { transform: `translate(${x} ${y})` });

  // flow breaks a line of text where the window ends, and returns the height of what
  // this adds.
  function flow(line, step) {
    const parts = line.textContent.split(/(?<= )/);
    let row = line, added = 0;
    line.textContent = '';
    for (const word of parts) {
      row.append(word);
      if (row.getComputedTextLength() > width_ - 2 * geo.pad && row.childNodes[1]) {
        row.lastChild.remove();
        line.append(row = shape('tspan', { x: geo.pad, dy: step }, word));
        added += step;
      }
    }
    return added;
  }

  // ---- Drawing -----------------------------------------------------------

  let width_ = root.viewBox.baseVal.width; // of the whole picture
  let room_ = 0;                           // above the picture, for what does not fit in a row
  let wrapped = 0;                         // the part of it that lines at the top take
  let rows = 0;                            // in one view never fewer than once needed
  let boxes = [];
  let focus = null;                        // the node with the focus

  // plan returns the boxes of a pane that are at least so many pixels wide. Runs
  // of narrower siblings become one box with the number of frames in it.
  const rounded = v => round(v * 100) / 100;
  function plan(pane, least) {
    const { from, to, t: zoom } = pane.view, scale = (width_ - 2 * geo.pad) / (to - from);
    // Callers of a very deep view take most of the height: show the last few.
    const first = zoom.depth > geo.maxRows / 2 ? zoom.depth - 20 : 0;
    const out = { pane, boxes: [], hidden: 0, weight: 0, deeper: 0, rows: 0, first, least };
    const add = (t, row, a, b, kids) => {
      a = max(a, from);
      b = min(b, to);
      out.boxes.push({ pane, t, row, from: a, to: b, x: rounded(geo.pad + (a - from) * scale), w: rounded((b - a) * scale), kids });
      out.rows = max(out.rows, row + 1);
    };
    const todo = [pane.tree];
    for (let t; (t = todo.pop());) {
      const row = t.depth - first;
      if (row >= geo.maxRows) {
        out.deeper += framesIn(t);
        continue;
      }
      if (row >= 0) add(t, row, t.at, t.at + t.w);
      const shown = [];
      let bar = [];
      const flush = () => {
        const [a, z] = [bar[0], last(bar)];
        if (a && (z.at + z.w - a.at) * scale >= least && row > -2) add(t, row + 1, a.at, z.at + z.w, bar);
        bar = [];
      };
      for (const kid of grow(t)) {
        if ((kid.at + kid.w - from) * scale < 1e-6 || (to - kid.at) * scale < 1e-6) continue;
        if (kid.w * scale < least && row + 1 < geo.maxRows) {
          bar.push(kid);
          out.hidden += framesIn(kid);
          out.weight += value(kid);
        } else {
          flush();
          shown.unshift(kid);
        }
      }
      flush();
      todo.push(...shown);
    }
    return out;
  }

  const isFlame = () => !state.v === ui.flame;

  function draw() {
    const plans = panes.map(pane => {
      let p = plan(pane, geo.minWidth);
      while (p.boxes.length > geo.maxElements / panes.length) p = plan(pane, p.least * 2);
      return p;
    });
    hideTip();
    const two = plans.length > 1, flame = isFlame(), upper = two && flame ? 0 : 1;
    resize(two ? plans[0].rows + plans[1].rows - 1 : max(rows, plans[0].rows), flame && !two);
    // The row of the root, and whether the others stand above it.
    const base = two ? plans[upper].rows - 1 : flame ? rows - 1 : 0;
    const paths = {}, hadFocus = layer.contains(page.activeElement), byKeys = layer.querySelector(':focus-visible');
    const [was] = boxes;
    boxes = [];
    layer.replaceChildren(plain);
    plans.forEach((p, i) => {
      const up = two ? i === upper : flame;
      for (const box of p.boxes) {
        const subject = two && !box.kids && box.t === p.pane.tree;
        if (subject && i) continue; // stands there already
        box.y = geo.top + (base + (up ? -box.row : box.row)) * geo.step;
        drawBox(box, paths);
        boxes.push(box);
        if (subject) set(rectOf(box), { 'data-subject': '' });
      }
    });
    for (const { name, dash, width, stroke } of ui.marks) {
      if (paths[name]) layer.append(shape('path', { d: paths[name], stroke, 'stroke-width': width, 'stroke-dasharray': dash }));
    }
    paint();
    // The function in a sandwich stays where it is on the screen.
    if (standalone && two && was?.t === boxes[0].t) scrollBy(0, boxes[0].y - was.y);
    showFocus(hadFocus, byKeys);
    describe(plans);
  }

  // Frames with a label are elements of their own, and so is what gets the focus. The
  // many others are parts of one path for each way to paint them, as the time that
  // browsers take goes by the number of elements.
  const plain = shape('g', {});

  function drawBox(box, paths) {
    const { t, x, y, w, kids } = box, { fill, marks } = kids ? { fill: ui.colors.small, marks: [] } : look(t);
    const called = panes[1] && t.depth === 1 && !kids ? ' ' + percent(value(t), value(t.up)) : '';
    const label = w > 20 && fit((kids ? grouped(framesOf(kids)) + ' small' : nameOf(t)) + called, w);
    box.fill = fill;
    box.shown = rounded(w > 2 ? w - 0.7 : w);
    if (label) layer.append(rectOf(box), shape('text', { x: x + geo.labelPad, y: y + 12 }, label));
    if (w >= 6) for (const m of ui.marks) {
      if (marks.includes(m.name)) paths[m.name] = (paths[m.name] || '') + `M${x + m.x} ${y + m.y}` + m.path.replace(/W/g, box.shown - m.less);
    }
  }

  const rectOf = box => box.rect ||= layer.appendChild(shape('rect', {
    x: box.x, y: box.y, width: box.shown, height: geo.size, rx: 2, fill: box.fill, ...ui.outline,
  }));

  // paint marks what a search found and dims the rest, and callers of a zoom.
  function paint() {
    const paths = {};
    for (const { t, kids, pane, rect, x, y, shown, fill: color } of boxes) {
      const hit = found && (kids ? kids.some(holdsHit) : found.hits[t.f]), fill = hit ? ui.colors.match : color;
      const opacity = found && !hit || !kids && t.depth < pane.view.t.depth ? 0.6 : 1, r = min(2, shown / 2), corner = `a${r} 2 0 0 1 `;
      if (rect) set(rect, { fill, opacity });
      else (paths[fill + opacity] ||= { ...ui.outline, fill, opacity, d: '' }).d +=
        `M${x} ${y + 2}${corner}${r}-2H${x + shown - r}${corner}${r} 2v${geo.size - 4}${corner}-${r} 2H${x + r}${corner}-${r}-2z`;
    }
    plain.replaceChildren(...Object.values(paths).map(values => shape('path', values)));
  }

  // resize sets the height to so many rows. In a flame layout the root stays
  // where it is on the screen when the picture grows upwards.
  function resize(n, flame) {
    const grown = (n - rows) * geo.step, end = geo.top + n * geo.step;
    const height = max(end + geo.bottom + room_, standalone ? innerHeight : 0); // room for panels
    set(root, { viewBox: `0 -${room_} ${width_} ${height}`, width: width_, height });
    set(foot, { y: end + 22 });
    place();
    if (rows && grown > 0 && standalone && flame) scrollBy(0, grown);
    rows = n;
  }

  // describe writes the path to the zoomed frame, what is set, and what is not
  // drawn.
  function describe(plans) {
    const pane = panes.find(zoomed) || panes[0], { view } = pane, path = pathTo(view.t), isZoomed = zoomed(pane), f = panes[0].tree.f;
    const notes = [
      isZoomed && amount(value(view.t)) + ' (' + percent(value(view.t), all) + words.resets,
      state.m === 'r' ? words.reverse : state.m && (isZoomed ? fit(frames[f].name, 36 * geo.char) + ' ' : '') +
        sharesOf(f) + words[isFlame() ? 'calleesUp' : 'callersUp'] + (isZoomed || state.s ? '' : words.escape),
      state.x && 'without ' + plural(state.x.split('.').length, 'name') + ' (' + percent(last(whole) - all, last(whole)) + words.back,
      state.R && words.recursion, state.g && words['group' + state.g],
      compared && state.w && 'swapped: ' + labels(), compared && state.e && words.elided,
    ].filter(Boolean).join(' · ');
    hint.replaceChildren(crumb(pane, pane.tree));
    if (path.length > 4) hint.append(shape('tspan', { dx: 6 }, '› … ' + grouped(path.length - 4) + ' more'));
    for (const t of path.slice(-4)) hint.append(shape('tspan', { dx: 6 }, '›'), crumb(pane, t, 6));
    hint.append(shape('tspan', { dx: 14 }, notes || words.hint));
    resetButton.hidden = !isZoomed;
    foot.textContent = plans.map(p => [
      p.hidden && grouped(p.hidden) + words.narrower + `${p.least} px (${percent(p.weight, all)} of ${amount(all)}) ` + words.narrow,
      p.first && grouped(p.first) + words.callers,
      p.deeper && grouped(p.deeper) + words.deeper,
    ].filter(Boolean).join(' ')).join(' ');
    flow(foot, geo.step);
  }

  // sharesOf returns what a function takes, by itself and with all that it calls.
  function sharesOf(f) {
    const { total, self } = figures(functions), g = functions.of[f];
    return percent(last(total)[g], all) + words.shares + percent(last(self)[g], all);
  }

  function crumb(pane, t, dx) {
    return shape('tspan', { dx: dx || 0, 'data-ft': 'crumb', click: () => zoomTo(pane, viewOf(t)) }, fit(nameOf(t), 36 * geo.char));
  }

  // zoomTo shows a part of a pane; only the first pane's is kept in the address.
  function zoomTo(pane, view, replace) {
    if (!(view.to > view.from)) return;
    pane.view = view;
    if (pane === panes[0]) {
      state.z = namesTo(view.t).join('.');
      const share = v => ((v - view.t.at) / view.t.w).toFixed(6);
      state.r = view.to - view.from < view.t.w ? share(view.from) + '-' + share(view.to) : '';
      save(!replace);
    }
    draw();
    showFound();
  }

  // namesTo is the path to a node as hashes of names, and follow goes along one, as far
  // as it exists.
  const namesTo = t => pathTo(t).map(t => id(nameOf(t)));
  function follow(path) {
    let t = panes[0].tree;
    for (const h of path) {
      const next = grow(t).filter(kid => id(nameOf(kid)) === h).sort((a, b) => b.w - a.w)[0];
      if (!next) break;
      t = next;
    }
    return t;
  }

  // restore zooms to the path in the state.
  function restore() {
    const t = follow(state.z.split('.')), [a, b] = state.r.split('-').map(Number);
    panes[0].view = b > a && a >= 0 && b <= 1 ? { t, from: t.at + a * t.w, to: t.at + b * t.w } : viewOf(t);
  }

  // reveal scrolls to the function in a sandwich, and to where one is in a flame, whose
  // root may be far below: there are many rows. turned: the picture just was.
  const reveal = turned => (panes[1] || standalone && (turned || isFlame())) &&
    rectOf(boxOf(focus) || boxOf(panes[0].view.t) || boxes[0]).scrollIntoView({ block: 'center' });

  // choose changes the state and draws anew. outer is the zoom to go back to.
  let outer = ['', ''];
  function choose(changes) {
    const moved = [...'mxRgew'].some(k => k in changes), kept = focus && namesTo(focus);
    if ('m' in changes) {
      if (!state.m) outer = [state.z, state.r];
      [state.z, state.r] = changes.m ? ['', ''] : outer;
    }
    Object.assign(state, changes);
    if (moved) {
      replant();
      restore();
      focus = kept && !('m' in changes) && follow(kept);
    } else if ('v' in changes) rows = 0;
    save('m' in changes || 'x' in changes);
    refresh();
    if (moved || 'v' in changes) reveal('v' in changes);
  }

  function refresh() {
    set(root, { 'data-theme': state.d });
    set(caseButton, { 'aria-pressed': sensitive() });
    showLegend();
    draw();
    showFound();
  }

