// The interactive layer. It unpacks the whole graph from the file and draws what
// is visible: payload.go has the format, layout.go the same rules of drawing. It
// keeps no state outside this function and finds everything from its own svg
// element, so that several copies can stand in one page. Until the graph is
// unpacked, and if the browser lacks anything, the static layer stays as it is.
(async () => {
  'use strict';
  const page = document, root = page.currentScript?.ownerSVGElement;
  const part = name => root.querySelector('[data-ft=' + name + ']');
  const packed = root && part('graph');
  if (!packed || !window.DecompressionStream) return;

  // A file of its own owns the window, a copy in a page only what it is asked.
  const standalone = page.documentElement === root;
  const { abs, floor, max, min, round, sqrt } = Math;

  // set gives an element listeners, which are functions, and attributes.
  const set = (e, values) => {
    for (const name in values) {
      if (values[name].call) e.addEventListener(name, values[name]);
      else e.setAttribute(name, values[name]);
    }
    return e;
  };
  const maker = space => (tag, values, ...content) => {
    const e = set(page.createElementNS('http://www.w3.org/' + space, tag), values);
    e.append(...content);
    return e;
  };
  const shape = maker('2000/svg'), html = maker('1999/xhtml');

