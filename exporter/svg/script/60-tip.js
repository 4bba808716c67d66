  // ---- What is known about a frame ---------------------------------------

  const tip = shape('g', { 'data-ft': 'tip' });

  function linesOf({ t, kids, pane }) {
    const v = valueOf(kids || [t]), share = (v, of) => amount(v) + ' (' + percent(v, of) + ')';
    if (kids) return [plural(framesOf(kids), 'frame') + words.tooNarrow, share(v, all)];
    const f = frames[t.f], out = [nameOf(t)], side = compared ? ' in ' + inOrder(compared.labels)[1] : '';
    const line = text => text && out.push(text);
    if (f) {
      line(ui.kinds[f.kind].name + (f.inlined ? ', inlined' : '') + (f.module ? ' · ' + f.module : ''));
      line(f.file && f.file + (f.line ? ':' + f.line : ''));
    }
    const self = v - valueOf(grow(t));
    line(share(v, all) + ' of all' + side + (t.down && t.up ? ', self ' + share(max(0, self), all) : ''));
    if (ui.seconds) line('≈ ' + (v * ui.seconds).toPrecision(3) + words.cpu);
    if (zoomed(pane) && t.depth >= pane.view.t.depth) line(percent(v, value(pane.view.t)) + words.ofZoom);
    if (t.up) line(percent(v, value(t.up)) + ' of its ' + (t.down ? 'caller' : 'callee'));
    if (compared) line(labels() + ': ' + changeText(change(value(t, 0), v)));
    if (f?.kind < 4) {
      const { total, self, nodes } = figures(functions), g = functions.of[t.f];
      line(`Everywhere${side}: ${share(last(total)[g], all)}, self ${share(last(self)[g], all)}, at ${plural(nodes[g], 'place')}`);
    }
    return out;
  }

  // wrap breaks a long line, so that the whole name can be read.
  function wrap(line, room) {
    const rows = line.match(RegExp(`.{1,${room}}`, 'gsu'));
    return rows[12] ? [...rows.slice(0, 11), '… ' + grouped([...line].length - 11 * room) + words.longer] : rows;
  }

  function showTip(box, x, y) {
    const room = min(120, floor((width_ - 4 * geo.pad) / geo.char)), lines = linesOf(box).flatMap(line => wrap(line, room));
    const w = max(...lines.map(l => columns([...l]))) * geo.char + 20, h = lines.length * 17 + 12;
    const limit = root.viewBox.baseVal.height, bottom = standalone ? min(limit, scrollY + innerHeight) - room_ : limit;
    x = max(4, min(x + 14, width_ - w - 4));
    y = y + 18 + h > bottom ? max(4, y - h - 10) : y + 18;
    tip.replaceChildren(shape('rect', { x, y, width: w, height: h, rx: 5 }), ...lines.map((line, i) =>
      shape('text', { x: x + 10, y: y + 20 + i * 17 }, line)));
    root.append(tip);
  }

  const hideTip = () => tip.remove();

  // ---- The frame with the focus ------------------------------------------

  const boxOf = t => boxes.find(b => b.t === t && !b.kids);

  // showFocus marks the focused frame and the path to it for assistive technology. A
  // frame that was clicked keeps the focus without a tooltip.
  function showFocus(take, byKeys) {
    for (const rect of layer.querySelectorAll('[role]')) for (const name of ['role', 'tabindex', 'aria-label', 'aria-level']) rect.removeAttribute(name);
    const box = boxOf(focus) || boxes[0];
    for (let t = box.t; t; t = t.up) {
      const b = boxOf(t);
      if (!b) continue;
      set(rectOf(b), { role: 'treeitem', 'aria-level': t.depth + 1, 'aria-label': b === box ? linesOf(b).join(', ') : nameOf(t) });
    }
    set(box.rect, { tabindex: 0, 'aria-selected': !!take });
    if (take) {
      box.rect.focus({ preventScroll: true });
      if (standalone) box.rect.scrollIntoView({ block: 'nearest' });
      if (byKeys && focus) showTip(box, box.x + min(box.w, 200) / 2, box.y);
    }
  }

  function focusOn(t) {
    focus = t;
    showFocus(true, true);
  }

  // move goes to the nearest box in a direction.
  function move(key) {
    const here = boxOf(focus);
    if (!here) return focusOn(panes[0].view.t);
    const dy = { ArrowUp: -1, ArrowDown: 1 }[key] || 0, middle = here.x + here.w / 2;
    const next = boxes.filter(b => !b.kids && b.y === here.y + dy * geo.step &&
      (dy ? b.x < here.x + here.w && b.x + b.w > here.x : key === 'ArrowLeft' ? b.x < here.x : b.x > here.x));
    // Down a tower the widest frame, aside the nearest.
    next.sort((a, b) => dy ? b.w - a.w : abs(a.x + a.w / 2 - middle) - abs(b.x + b.w / 2 - middle));
    if (next[0]) focusOn(next[0].t);
  }

