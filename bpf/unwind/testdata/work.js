const crypto = require('crypto'), zlib = require('zlib');
function inner(n) {
  const text = JSON.stringify(Array.from({ length: n }, (_, i) => ({ name: 'row ' + i, value: i * 1.5 })));
  crypto.createHash('sha256').update(text).digest('hex');
  zlib.deflateSync(text);
  return text.replace(/row (\d+)/g, (m, d) => d).split(',').sort().length;
}
function outer() { let s = 0; for (let i = 0; i < 10; i++) s += inner(300); return s; }
for (;;) outer();
