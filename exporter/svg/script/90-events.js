  // ---- Actions -----------------------------------------------------------

  const cycle = (key, values = ['', '1'], now = state[key]) => choose({ [key]: values[(values.indexOf(now) + 1) % values.length] });
  // target is the frame that a key or the menu is about, if there is one.
  const target = (least = -1) => focus?.f >= least && boxOf(focus) || say(words.pick);

  // By the names in keys.go.
  const actions = {
    search: openSearch,
    next: () => step(1),
    previous: () => step(-1),
    info: () => state.s ? setCase() : openPanel('info', words.about, html('pre', {}, ui.about)),
    escape: () => {
      if (panel) closePanel();
      else if (state.s) {
        input.value = '';
        searchNow();
        input.blur();
      } else act(state.m && !panes.some(zoomed) ? 'calls' : 'reset');
    },
    calls: () => choose({ m: '' }),
    reset: () => panes.forEach(pane => zoomed(pane) && zoomTo(pane, viewOf(pane.tree))),
    back: () => standalone && history.back(),
    move,
    zoom: () => target() && zoomTo(boxOf(focus).pane, viewOf(focus)),
    copyName: () => target() && copy(nameOf(focus)),
    copyStack: () => target() && copy(pathTo(focus).map(nameOf).join(';') + ' ' + value(focus) + '\n' + linesOf(boxOf(focus)).slice(1).join('\n')),
    sandwich: () => target(0) && sandwich(focus.f),
    exclude: () => target(0) && choose({ x: [...state.x ? state.x.split('.') : [], id(nameOf(focus))].join('.') }),
    include: () => choose({ x: '' }),
    table: () => showTable(panel?.name === 'table' ? modules : functions, compared ? '' : 'self'),
    invert: () => cycle('v'),
    reverse: () => choose({ m: state.m === 'r' ? '' : 'r' }),
    recursion: () => cycle('R'),
    group: () => cycle('g', ['', '1', '2']),
    color: () => cycle('k', colorings, coloring()),
    dark: () => cycle('d', ['', 'dark', 'light']),
    elided: () => cycle('e'),
    swap: () => cycle('w'),
    help: () => showMenu(),
  };
  const act = (name, key) => actions[name](key);

  // Characters are taken when they are typed, so that none gets into the box that
  // a key opens, whatever key a keyboard has it on.
  function onKey(event) {
    // The tooltip of what has the focus goes with it.
    if (!layer.contains(page.activeElement)) hideTip();
    const typed = event.type === 'keypress', key = event.key, control = event.ctrlKey || event.metaKey;
    const name = ui.byKey[(control ? 'C-' : '') + key];
    if (event.target === input) {
      if (key === 'Enter' && !typed) {
        if (state.s === input.value && found) step(event.shiftKey ? -1 : 1); else searchNow();
        input.focus();
      } else if (key === 'Escape') act('escape');
      return;
    }
    if (!name || event.altKey || !control && typed !== (key.length === 1) || key === 'Enter' && event.target.tagName === 'button') return;
    event.preventDefault();
    act(name, key);
  }
  // Not at the layer: an SVG element that listens for the focus takes it when clicked.
  set(standalone ? window : root, { keydown: onKey, keypress: onKey, focusout: hideTip });

  let drag = null, queued = false;
  const pointAt = e => new DOMPoint(e.clientX, e.clientY).matrixTransform(root.getScreenCTM().inverse());
  const boxAt = e => {
    const { x, y } = pointAt(e);
    return boxes.find(b => x >= b.x && x < b.x + b.shown && y >= b.y && y < b.y + geo.size);
  };
  set(layer, {
    click: e => {
      const box = boxAt(e);
      if (!box || drag?.moved) return;
      zoomTo(box.pane, box.kids ? { t: box.t, from: box.from, to: box.to } : viewOf(box.t));
    },
    pointermove: e => {
      const box = boxAt(e);
      if (drag && e.buttons && abs(e.clientX - drag.x) > 4) {
        const { pane, view } = drag;
        drag.moved = true;
        return look_(pane, view.from - (e.clientX - drag.x) * (view.to - view.from) / (width_ - 2 * geo.pad), view.to - view.from);
      }
      if (!box) return hideTip();
      if (!box.kids) focus = box.t;
      const { x, y } = pointAt(e);
      showTip(box, x, y);
    },
    pointerleave: hideTip,
    pointerdown: e => {
      const box = boxAt(e);
      drag = box && { pane: box.pane, view: box.pane.view, x: e.clientX };
    },
    contextmenu: e => {
      const box = boxAt(e);
      if (!box || box.kids) return;
      e.preventDefault();
      focus = box.t;
      showMenu(true);
    },
  });

  // look_ shows so much of a pane from a place on, once for each frame of the screen.
  function look_(pane, from, length) {
    const { tree } = pane;
    length = min(length, tree.w);
    from = max(0, min(from, tree.w - length));
    let t = tree;
    for (let kid = t; kid; kid = grow(t).find(k => k.at <= from && k.at + k.w >= from + length)) t = kid;
    pane.next = { t, from, to: from + length };
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => {
      queued = false;
      for (const p of panes) {
        if (p.next) zoomTo(p, p.next, true);
        p.next = null;
      }
    });
  }
  root.addEventListener('wheel', e => {
    const { pane } = boxAt(e) || boxes[0], { from, to } = pane.next || pane.view, scale = (to - from) / (width_ - 2 * geo.pad);
    const zooms = e.ctrlKey || e.metaKey, by = e.deltaX || (e.shiftKey ? e.deltaY : 0);
    if (!zooms && !by) return;
    e.preventDefault();
    const f = zooms ? Math.exp(e.deltaY / 300) : 1, x = zooms ? (pointAt(e).x - geo.pad) * scale : 0;
    look_(pane, from + x * (1 - f) + (zooms ? 0 : by * scale), max(1e-9 * pane.tree.w, (to - from) * f));
  }, { passive: false });

  // ---- Start -------------------------------------------------------------

  function measure() {
    width_ = windowWidth();
    wrapped = 0;
    for (const line of head.children) {
      moveTo(line, 0, wrapped);
      wrapped += flow(line, line.previousSibling ? geo.step : 24);
    }
  }

  function fill() {
    measure();
    showLegend();
    draw();
  }

  // start shows the state in the address.
  function start() {
    load();
    replant();
    restore();
    refresh();
    input.value = state.s;
    startSearch(state.s);
    reveal();
  }

  if (standalone) {
    measure();
    set(window, { resize: fill, scroll: place, popstate: start });
  } else {
    set(root, { tabindex: 0 });
  }
  set(layer, { role: 'tree', 'aria-label': words.title });
  root.append(result, problemLine, toolbar);
  start();
})();
