  // ---- State -------------------------------------------------------------

  // All that the reader chose, as strings, so that the address can hold it: z is
  // the path zoomed to, as hashes of names, and r the part of it; s what is
  // searched for and i how; m is r for bottom-up or the hash of the function in
  // the sandwich; x are hashes of functions left out; v and R are set for upside
  // down and collapsed recursion; g is what is merged, k the colouring, d the
  // theme; e hides what is gone, w swaps both profiles.
  const initial = {};
  for (const key of 'zrsimxvRgkdew') initial[key] = '';
  const state = { ...initial };

  function save(push) {
    if (!standalone) return;
    const text = Object.keys(state).filter(k => state[k]).map(k => k + '=' + encodeURIComponent(state[k])).join('&');
    try {
      history[push ? 'pushState' : 'replaceState'](null, '', '#' + text);
    } catch { /* a frame without an origin has no history */ }
  }

  function load() {
    Object.assign(state, initial);
    for (const item of standalone ? location.hash.slice(1).split('&') : []) {
      const [key, value] = item.split('=');
      try {
        if (key in initial) state[key] = decodeURIComponent(value || '');
      } catch { /* not ours */ }
    }
  }

  // ---- Weights -----------------------------------------------------------

  // What follows from the state. sides are the profiles' own weights by node,
  // less what is left out, and totals theirs with all below; the last side is the
  // one that figures are about. width and wide are the same for what is drawn.
  let sides, totals, width, wide, all, wholes, samples, sums;
  const whole = (compared ? own : [own[ui.weight]]).map(self => self.reduce((a, b) => a + b, 0));
  rough = whole.some(v => v > 2 ** 53);
  const last = list => list[list.length - 1];
  const labels = () => inOrder(compared.labels).join(' → ');
  const inOrder = list => state.w ? [list[1], list[0]] : list;

  function weigh() {
    sides = compared ? inOrder(own) : [own[ui.weight]];
    if (state.x) {
      const out = state.x.split('.');
      const gone = functions.first.map(f => out.includes(id(frames[f].name)));
      sides = sides.map(self => {
        const rest = self.slice();
        for (let i = 1; i < count;) {
          if (gone[functions.of[frame[i]]]) {
            rest.fill(0, i, end[i]);
            i = end[i];
          } else i++;
        }
        return rest;
      });
    }
    totals = sides.map(totalsOf);
    sums = {};
    all = last(totals)[0];
    width = last(sides);
    wide = last(totals);
    if (!compared) return;
    const [b, a] = totals.map(t => t[0]), most = max(b, a);
    wholes = compared.normalized ? [b, a] : [most, most];
    samples = inOrder(compared.samples).map((n, s) => n * totals[s][0] / inOrder(whole)[s] || 0);
    width = width.map((v, i) => totals[1][i] ? v / wholes[1] : state.e && a ? 0 : sides[0][i] / wholes[0] || 0);
    wide = totalsOf(width);
  }

  // figures adds up functions or modules: total without counting a stack twice,
  // self, and the number of nodes; of some nodes of a tree, of the stacks there.
  function figures(group, parts) {
    const key = group === modules ? 'm' : 'f';
    if (!parts && sums[key]) return sums[key];
    let own_ = sides, below = totals, marks;
    if (parts) {
      marks = new Uint8Array(count);
      for (const t of parts) for (const i of t.from) marks.fill(1, i, t.weights.by === sides ? i + 1 : end[i]);
      own_ = sides.map(self => self.map((v, i) => marks[i] && v));
      below = own_.map(totalsOf);
    }
    const n = group.first.length, list = () => new Float64Array(n);
    const out = { total: own_.map(list), self: own_.map(list), nodes: list() }, until = new Int32Array(n);
    for (let i = 1; i < count; i++) {
      const g = group.of[frame[i]];
      // Callers of what grows from the root do not belong to it.
      if (!wide[i] || parts && parts[0].down && !marks[i]) continue;
      out.nodes[g]++;
      own_.forEach((self, s) => {
        out.self[s][g] += self[i];
        if (i >= until[g]) out.total[s][g] += below[s][i];
      });
      until[g] = max(until[g], end[i]);
    }
    return parts ? out : sums[key] = out;
  }

  // change is Comparison.Change of the Go package callgraph.
  function change(before, after) {
    const [b, a] = [before / wholes[0] || 0, after / wholes[1] || 0], [nb, na] = samples;
    const c = { b, a, delta: a - b, isNew: !before && after > 0, gone: before > 0 && !after };
    if (!nb || !na) return { ...c, real: before !== after };
    const [B, A] = totals.map(t => t[0]), xb = before / B * nb, xa = after / A * na, p = (xb + xa) / (nb + na);
    const z = compared.normalized ? c.delta / sqrt(p * (1 - p) * (1 / nb + 1 / na)) : (xa - xb) / sqrt(xa + xb);
    return { ...c, real: isFinite(z) && abs(z) >= compared.noise };
  }

  const signed = v => (v < 0 ? '' : '+') + (100 * v).toFixed(2);
  const changeText = c => percent(c.b, 1) + ' → ' + percent(c.a, 1) + ' (' + signed(c.delta) + ' points)' +
    (c.gone ? ', gone' : c.isNew ? ', new' : '') + (c.real ? '' : words.noise);

