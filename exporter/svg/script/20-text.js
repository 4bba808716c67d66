  // ---- Text --------------------------------------------------------------

  const grouped = v => v.toLocaleString('en-US');
  const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + '%';
  const plural = (n, noun) => grouped(n) + ' ' + noun + (n === 1 ? '' : 's');

  function amount(v) {
    const { size, name, one } = ui.unit.find(s => v >= s.size) || last(ui.unit);
    return (rough ? '≈ ' : '') + (size === 1 ? grouped(v) : (v / size).toFixed(2)) + ' ' + (v === 1 && one || name);
  }

  const hash = text => {
    let h = 0;
    for (let i = 0; i < text.length; i++) h = Math.imul(h, 31) + text.charCodeAt(i) | 0;
    return h >>> 0;
  };
  const id = name => hash(name).toString(36);

  const columns = chars => chars.reduce((n, c) => {
    const code = c.codePointAt(0);
    return n + (code >= 0x1100 && code !== 0xfffd && (code < 0x2000 || code > 0x206f) ? 2 : 1);
  }, 0);

  // fit is the same as in label.go.
  function fit(name, pixels) {
    const room = floor((pixels - 2 * geo.labelPad) / geo.char);
    if (room < 3) return '';
    let chars = [...name];
    if (columns(chars) <= room) return name;
    const starts = [0];
    let depth = 0, args = 0;
    for (let i = 0; i < chars.length; i++) {
      const c = chars[i];
      if ('([{<'.includes(c)) {
        if (c === '(' && !depth && !args && i > starts[0] && chars.slice(max(0, i - 8), i).join('') !== 'operator') args = i;
        depth++;
      } else if (')]}>'.includes(c)) {
        depth = max(0, depth - 1);
      } else if (!depth && ':./'.includes(c)) {
        const rest = chars.slice(i + 1, i + 12).join('');
        if (rest && !/^([\d{:]|(cold|isra|part|constprop|llvm)\b)/.test(rest)) {
          starts.unshift(i + 1);
          args = 0;
        }
      } else if (!depth && c === ' ' && i && chars[i + 1] === '/') {
        args = i;
        break;
      }
    }
    if (args) chars.length = args;
    if (columns(chars) < room) return chars.join('') + '…';
    let tail = 0, used = 0, end = chars.length;
    for (const s of starts) {
      used += columns(chars.slice(s, end));
      if (used >= room) break;
      tail = end = s;
    }
    if (tail) return '…' + chars.slice(tail).join('');
    end = starts[0];
    for (used = 0; (used += columns([chars[end]])) < room;) end++;
    return chars.slice(starts[0], end).join('') + '…';
  }

