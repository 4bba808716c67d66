  // ---- Controls ----------------------------------------------------------

  const layerOf = content => {
    const holder = shape('foreignObject', { 'data-ft': 'ui', width: 1, height: 1 }, content);
    content.classList.add('ft');
    return holder;
  };
  const button = (text, click, more) => html('button', { type: 'button', click, ...more }, text);

  let pending = 0;
  const input = html('input', {
    type: 'search', placeholder: words.search, 'aria-label': words.how, spellcheck: false,
    input: () => {
      clearTimeout(pending);
      pending = setTimeout(searchNow, 80);
    },
  });
  const searchNow = () => {
    clearTimeout(pending);
    startSearch(input.value);
  };
  const resetButton = button(words.reset, () => act('reset'));
  const caseButton = button('Aa', () => setCase(), { title: words.case });
  const bar = html('div', { class: 'bar' }, resetButton, input, caseButton,
    button('‹', () => step(-1), { title: words.previous }), button('›', () => step(1), { title: words.next }),
    button('Functions', () => act('table')), button('Menu', () => act('help')));
  const toolbar = layerOf(bar);

  const textLine = (name, more) => shape('text', { 'data-ft': name, role: 'status', y: geo.status, ...more });
  const result = textLine('matched', { x: geo.pad });
  const problemLine = textLine('problem');
  const say = text => { problemLine.textContent = text; };

  function openSearch() {
    closePanel();
    input.focus();
    input.select();
  }

  function setCase() {
    state.i = sensitive() ? 'i' : 'c';
    startSearch(input.value);
    refresh();
  }

  // A panel is a dialog over the picture. There is one at a time.
  let panel = null;
  function openPanel(name, title, ...content) {
    closePanel();
    const close = button('Close', closePanel);
    const box = html('div', { class: 'panel', role: 'dialog', 'aria-label': title, tabindex: -1 }, close, html('h2', {}, title), ...content);
    panel = layerOf(box);
    panel.name = name;
    root.append(panel);
    place();
    close.focus({ preventScroll: true });
  }

  function closePanel() {
    if (panel) panel = panel.remove();
  }

  const row = (tag, cells) => html('tr', {}, ...cells.map(([content, cls]) => html(tag, { class: cls || '' }, content)));
  const table = (head, lines) => html('table', {}, html('thead', {}, row('th', head)), html('tbody', {}, ...lines));

  // showMenu lists all actions, or those on a frame.
  function showMenu(onFrame) {
    const list = ui.keys.filter(k => !onFrame || k[2]);
    openPanel('help', onFrame ? nameOf(focus).slice(0, 200) : words.keys, table([['Key'], ['Action']], list.map(([name, text, , shown]) =>
      row('td', [[html('kbd', {}, shown)], [button(text, () => {
        closePanel();
        act(name);
      })]]))));
  }

  // showTable lists functions or modules of what is zoomed to, of comparisons what
  // changed most.
  function showTable(group, by) {
    const pane = panes.find(zoomed), inside = pane && within(pane.view), parts = pane && (inside[0] ? inside : [pane.view.t]), here = pane && valueOf(parts);
    const { total, self } = figures(group, parts), a = last(self), b = last(total), title = group === modules ? 'Modules' : words.table;
    const ids = group.first.map((f, g) => g).filter(g => frames[group.first[g]].kind < 4 && (b[g] || total[0][g]) &&
      (!found || group !== functions || functions.of.some((of, f) => of === g && found.hits[f])));
    const moved = (list, g) => change(list[0][g], list[1][g]);
    const rank = by === 'total' ? g => b[g] : compared && !by ? g => (moved(self, g).real || moved(total, g).real) + abs(moved(self, g).delta) : g => a[g];
    ids.sort((x, y) => rank(y) - rank(x) || b[y] - b[x] || x - y);
    const sorter = (text, by) => [button(text, () => showTable(group, by)), 'n'];
    const shown = ids.slice(0, compared && !by ? 20 : 200);
    const head = [[title], sorter(words.self, compared ? '' : 'self'), sorter(words.total, 'total')];
    const share = v => pane ? percent(v, here) + ' (' + percent(v, all) + ' of all)' : percent(v, all);
    const cell = (list, g) => [compared ? changeText(moved(list, g)) : share(list[0][g]) + '  ' + amount(list[0][g]), 'n'];
    const tab = (text, to) => button(text, () => showTable(to, by), { 'aria-pressed': to === group });
    openPanel(group === modules ? 'modules' : 'table', title + (pane ? words.within + (parts[1] ? plural(parts.length, 'frame') + ' of ' : '') +
      nameOf(parts[1] ? pane.view.t : parts[0]).slice(0, 200) + ', ' + amount(here) : ''), html('p', {}, tab('Functions', functions), ' ', tab('Modules', modules)), table(head, shown.map(g => {
      const f = frames[group.first[g]], name = group === modules ? moduleOf(f) : f.name;
      return row('td', [[button(name + (group === functions && f.module ? ' · ' + base(f.module) : ''), () => {
        closePanel();
        if (group === functions) return sandwich(group.first[g]);
        input.value = 'module:^' + name.replace(/[^\w/-]/g, '\\$&') + '$';
        searchNow();
      }), 'f'], cell(self, g), cell(total, g)]);
    })), html('p', {}, shown.length < ids.length ? plural(ids.length - shown.length, 'more') : ''));
  }

  function sandwich(f) {
    choose({ m: 's' + id(frames[f].name) });
  }

  async function copy(text) {
    const area = html('textarea', {});
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      area.value = text;
      bar.append(area);
      area.select();
      page.execCommand('copy');
      area.remove();
    }
    say(words.copied + text.split('\n')[0].slice(-80));
  }

  // place puts what floats where the window is.
  function place() {
    const [x, y, most, h] = standalone ? [scrollX, scrollY - room_, seen(), innerHeight - 80] : [0, 0, width_, 500], w = min(760, most - 32);
    set(toolbar, { x, y: y + 10 });
    bar.style.width = most - geo.pad + 'px';
    set(problemLine, { x: most - geo.pad });
    if (!panel) return;
    set(panel, { x: x + (most - w) / 2, y: y + 50 });
    panel.firstChild.style.cssText = `width:${w}px;max-height:${h}px`;
  }

