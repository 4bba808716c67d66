  // ---- Search ------------------------------------------------------------

  let found = null, turn = 0;

  // sensitive: whether case matters. Unless set, it does if the expression has a
  // capital letter (that of a class such as \S is none).
  const sensitive = () => state.i ? state.i === 'c' : /[A-Z]/.test(state.s.replace(/\\./g, ''));

  // An expression that may take exponential time is tried elsewhere, and given up
  // if it takes too long: nothing can stop it here.
  const risky = text => /\)[*+{]|\\\d|[*+}].*[*+{]/.test(text);
  const elsewhere = (text, flags, names) => new Promise(done => {
    let worker;
    const stop = result => {
      clearTimeout(timer);
      worker?.terminate();
      done(result);
    };
    const timer = setTimeout(stop, 2000);
    try {
      worker = new Worker(URL.createObjectURL(new Blob([ui.worker])));
      worker.onmessage = e => stop(e.data);
      worker.onerror = () => stop();
      worker.postMessage([text, flags, names]);
    } catch {
      stop();
    }
  });

  // startSearch finds the frames whose name matches, or that of their module: of its
  // file, or with a slash in the expression the whole path. Each name is tested once.
  // What is no expression is searched for as it is.
  async function startSearch(text) {
    const mine = ++turn, rest = text.replace(/^module:/, '');
    const key = rest === text ? f => f.name : rest.includes('/') ? moduleOf : f => base(moduleOf(f));
    state.s = text;
    text = rest;
    save();
    let next = null;
    if (text) {
      const fold = sensitive() ? '' : 'i', distinct = [...new Set(frames.map(key))];
      let re, problem = '', results;
      try {
        re = RegExp(text, fold + 'u');
      } catch {
        try {
          re = RegExp(text, fold);
        } catch (e) {
          problem = words.bad + e.message.replace(/^.*\/[a-z]*: /, '') + ')' + words.plain;
        }
      }
      if (re && risky(text)) results = await elsewhere(text, re.flags, distinct);
      else if (re) results = distinct.map(name => re.test(name));
      if (mine !== turn) return; // the reader went on typing
      if (!results) {
        problem ||= words.slow + words.plain;
        const plain = v => fold ? v.toLowerCase() : v;
        results = distinct.map(name => plain(name).includes(plain(text)));
      }
      const good = new Set(distinct.filter((name, i) => results[i]));
      const hits = Uint8Array.from(frames, f => good.has(key(f))), inside = new Uint8Array(count), before = new Int32Array(count + 1);
      for (let i = 1; i < count; i++) {
        inside[i] = hits[frame[i]] | inside[parent[i]];
        before[i + 1] = before[i] + hits[frame[i]];
      }
      // inside: the node or a caller of it matches; before: how many nodes match
      // that stand before it.
      next = { hits, inside, before, problem, functions: new Set(functions.of.filter((g, f) => hits[f])).size, at: -1 };
    }
    found = next;
    paint();
    showFound();
  }

  // within returns the nodes that a view is about: of a bar, its frames; of a part
  // that the wheel chose, none.
  function within({ t, from, to }) {
    const parts = to - from < t.w ? grow(t).filter(k => k.at >= from && k.at + k.w <= to * (1 + 1e-9)) : [t];
    return abs(parts.reduce((s, k) => s + k.w, 0) - to + from) < t.w * 1e-6 ? parts : [];
  }

  const holdsHit = t => t.ids.some(t.down ? i => found.before[end[i]] > found.before[i] : i => found.inside[i]);

  // matched adds up the stacks with a match that end below or in a node of a tree,
  // and those of them that end in a match.
  function matched(t) {
    const self = last(sides), out = [0, 0];
    const add = i => {
      if (found.inside[i]) out[0] += self[i];
      if (i && found.hits[frame[i]]) out[1] += self[i];
    };
    for (const i of t.from) {
      if (t.weights.by === sides) add(i);
      else for (let k = i; k < end[i]; k++) add(k);
    }
    return out;
  }

  function showFound() {
    const problem = found?.problem || '';
    set(input, { 'aria-invalid': !!problem, title: problem || words.how });
    say(problem);
    result.textContent = '';
    if (!found) return;
    const [sum, self] = matched({ from: [0], weights: {} }), { view, tree } = panes.find(zoomed) || panes[0];
    let text = `Matched: ${percent(sum, all)} (${amount(sum)}, ${plural(found.functions, 'function')}), self ${percent(self, all)}`;
    const parts = within(view), here = valueOf(parts);
    if ((parts[0] !== tree || panes[1]) && here) {
      const [m, s] = parts.map(matched).reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
      text += ` · here ${percent(m, here)}, self ${percent(s, here)}`;
    }
    if (found.at >= 0) text += words.place + `${grouped(found.at + 1)} of ${grouped(found.list.length)}${found.more ? '+' : ''}`;
    result.textContent = text;
  }

  // step goes to the next match, the heaviest first, outermost ones only. To find
  // them the tree grows wherever there is one.
  function step(by) {
    if (!found) return openSearch();
    if (found.tree !== panes[0].tree) {
      const list = [], todo = [panes[0].tree];
      let budget = 20000;
      for (let t; budget-- && (t = todo.pop());) {
        if (found.hits[t.f]) list.push(t); else todo.push(...grow(t).filter(holdsHit));
      }
      Object.assign(found, { tree: panes[0].tree, list: list.sort((a, b) => b.w - a.w), more: todo.length > 0, at: by > 0 ? -1 : 0 });
    }
    const n = found.list.length;
    if (!n) return;
    found.at = (found.at + by + n) % n;
    const t = found.list[found.at], box = boxOf(t);
    if (!box || box.w < 8) zoomTo(panes[0], viewOf(t.up && t.w / t.up.w > 0.01 ? t.up : t));
    focusOn(t);
    showFound();
  }

