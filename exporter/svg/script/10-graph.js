  // ---- The graph ---------------------------------------------------------

  let bytes, at = 0, rough = false;
  try {
    const text = atob(packed.textContent.trim());
    bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    return; // damaged: the static layer is all there is
  }

  const uint = () => {
    let b = bytes[at++];
    if (b < 128) return b;
    let value = b & 127, factor = 128;
    do {
      b = bytes[at++];
      value += (b & 127) * factor;
      factor *= 128;
    } while (b > 127);
    return value;
  };
  const block = () => {
    const n = uint();
    at += n;
    return new TextDecoder().decode(bytes.subarray(at - n, at));
  };
  const column = (n, Type) => {
    const list = new Type(n);
    for (let i = 0; i < n; i++) list[i] = uint();
    return list;
  };

  const ui = JSON.parse(block()), geo = ui.geometry, compared = ui.compared, words = ui.texts;
  const texts = block().split('\n'), size = uint();
  const [names, kinds, mods, files, lines] = [1, 2, 3, 4, 5, 6].map(() => column(size, Uint32Array));
  const frames = Array.from(names, (name, i) => ({
    name: texts[name], kind: kinds[i] & 7, inlined: kinds[i] > 7, module: texts[mods[i]], file: texts[files[i]], line: lines[i],
  }));

  // Nodes are columns, in pre-order: those below i are the ones up to end[i].
  const count = uint(), own = Array(uint());
  const ups = column(count - 1, Uint32Array);
  const frame = new Int32Array(count).fill(-1), parent = new Int32Array(count), end = new Int32Array(count);
  for (let i = 1; i < count; i++) {
    frame[i] = uint();
    let p = i - 1;
    for (let up = ups[p]; up > 0; up--) p = parent[p];
    parent[i] = p;
  }
  for (let w = 0; w < own.length; w++) own[w] = column(count, Float64Array);
  for (let i = count - 1; i >= 0; i--) {
    end[i] ||= i + 1;
    end[parent[i]] ||= end[i];
  }
  bytes = null;

  // Code without a module is told apart by its kind; processes and threads have none.
  const moduleOf = f => f.module || (f.kind < 4 ? ui.kinds[f.kind].name : '');
  const base = path => path.replace(/.*\/(?=.)/, '');

  // numbered tells frames apart by a key: of is the number of each frame's, and
  // first a frame of each number.
  const numbered = key => {
    const ids = new Map(), first = [];
    const of = frames.map((f, i) => {
      const k = key(f);
      if (!ids.has(k)) ids.set(k, first.push(i) - 1);
      return ids.get(k);
    });
    return { of, first };
  };
  const functions = numbered(f => f.name + '\n' + f.kind + '\n' + f.module), modules = numbered(moduleOf);

  const totalsOf = self => {
    const out = self.slice();
    for (let i = count - 1; i > 0; i--) out[parent[i]] += out[i];
    return out;
  };

