// SPDX-License-Identifier: Apache-2.0
//
// A busy loop in optimised JavaScript.
//
//   node --perf-basic-prof node_busy.js [SECONDS]      default 10
//
// With --perf-basic-prof the runtime writes /tmp/perf-PID.map, from which the names come.
// Known answer: flametelBusyLoop is in most stacks, as JIT code.
'use strict';

function flametelBusyLoop(steps) {
  let x = 1;
  for (let i = 0; i < steps; i++) {
    x = Math.imul(x, 1664525) + 1013904223;
    x ^= x >>> 15;
  }
  return x;
}

const seconds = Number(process.argv[2] || 10);
const end = Date.now() + seconds * 1000;
let sum = 0;
while (Date.now() < end) {
  sum ^= flametelBusyLoop(2e6);
}
console.log('sum', sum);
