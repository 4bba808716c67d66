// third calls second, second calls first, first calls zlib or crypto, as the
// argument says. The functions are in this order below main.
const zlib = require('zlib'), crypto = require('crypto');
const data = Buffer.alloc(1 << 18, 'some text to be packed, and more of it. ');
const key = Buffer.alloc(32, 1), iv = Buffer.alloc(16, 2);
const what = {
	zlib: () => zlib.deflateSync(data, { level: 9 }).length,
	hash: () => crypto.createHash('sha512').update(data).digest()[0],
	pbkdf2: () => crypto.pbkdf2Sync('secret', 'salt', 2000, 64, 'sha512')[0],
	aes: () => { const c = crypto.createCipheriv('aes-256-gcm', key, iv.subarray(0, 12)); return c.update(data).length; },
}[process.argv[2]];
function first() { let n = 0; for (let i = 0; i < 3; i++) n += what(); return n; }
function second() { return first() + 1; }
function third() { return second() + 1; }
for (const end = Date.now() + 300000; Date.now() < end;) third();
