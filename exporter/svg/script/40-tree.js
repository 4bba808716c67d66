  // ---- Trees -------------------------------------------------------------

  // What is drawn is a tree that grows where it is looked at. Each of its nodes
  // stands for nodes of the graph with one frame f: ids. from are those whose
  // weights count: in a tree that grows towards callers, where the stacks end.
  // w is its width, at where it begins.
  const plant = (f, ids, down, weights, kidless) => {
    const t = { f, ids, from: ids, down, weights, bare: kidless, depth: 0, at: 0 };
    t.w = sum(t, weights.wide);
    return t;
  };
  const sum = (t, list) => t.from.reduce((v, i) => v + list[i], 0);
  const value = (t, side = sides.length - 1) => sum(t, t.weights.by[side]);

  const valueOf = list => list.reduce((s, t) => s + value(t), 0);

  // skipped are nodes that a setting makes one with those around them.
  function skipped(i, f) {
    const { kind } = frames[frame[i]];
    return kind === 5 && state.g || kind === 4 && state.g > 1 ||
      state.R && f >= 0 && functions.of[frame[i]] === functions.of[f];
  }

  function grow(t) {
    if (t.kids) return t.kids;
    const groups = new Map();
    const put = (i, from) => {
      const known = groups.get(frame[i]);
      if (known) {
        known.ids.push(i);
        if (from) known.from.push(from);
      } else {
        const ids = [i];
        groups.set(frame[i], { ids, from: from ? [from] : ids });
      }
    };
    if (t.down) {
      const list = t.ids.slice();
      for (let k = 0; k < list.length; k++) {
        for (let c = list[k] + 1; c < end[list[k]]; c = end[c]) {
          if (!wide[c]) continue;
          if (skipped(c, t.f)) list.push(c); else put(c);
        }
      }
    } else {
      t.ids.forEach((id, k) => {
        let p = t.bare ? id : parent[id];
        while (p && skipped(p, t.f)) p = parent[p];
        if (p) put(p, t.from[k]);
      });
    }
    let { at } = t;
    // By name, but the heaviest first in a bottom-up view: its root has thousands.
    t.kids = [...groups].map(([f, group]) => {
      const kid = { f, ...group, down: t.down, weights: t.weights, up: t, depth: t.depth + 1 };
      kid.w = sum(kid, t.weights.wide);
      return kid;
    }).sort((a, b) => state.m === 'r' && b.w - a.w || a.f - b.f);
    for (const kid of t.kids) {
      kid.at = at;
      at += kid.w;
    }
    return t.kids;
  }

  const nameOf = t => t.f < 0 ? 'all' : frames[t.f].name;
  const framesIn = t => t.down ? t.ids.reduce((n, i) => n + end[i] - i, 0) : t.ids.length;
  const framesOf = kids => kids.reduce((n, k) => n + framesIn(k), 0);
  const pathTo = t => {
    const path = [];
    for (; t.up; t = t.up) path.unshift(t);
    return path;
  };

  // Panes are the trees on the page: one, or callees and callers of a function.
  let panes = [];

  function replant() {
    weigh();
    const below = { wide, by: totals };
    if (state.m === 'r') {
      const ends = [];
      for (let i = 1; i < count; i++) if (width[i]) ends.push(i);
      panes = [{ tree: plant(-1, ends, false, { wide: width, by: sides }, true) }];
    } else if (state.m) {
      const ids = [], f = frames.findIndex(f => 's' + id(f.name) === state.m), g = functions.of[f];
      for (let i = 1; i < count;) {
        if (functions.of[frame[i]] === g && wide[i]) {
          ids.push(i);
          i = end[i];
        } else i++;
      }
      if (ids.length) panes = [true, false].map(down => ({ tree: plant(f, ids, down, below) }));
      else state.m = '';
    }
    if (!state.m) panes = [{ tree: plant(-1, [0], true, below) }];
    for (const pane of panes) pane.view = viewOf(pane.tree);
    rows = 0;
    focus = null;
  }

  const viewOf = t => ({ t, from: t.at, to: t.at + t.w });
  const zoomed = pane => pane.view.to - pane.view.from < pane.tree.w;

