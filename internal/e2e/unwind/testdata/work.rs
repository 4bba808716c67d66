// main, outer, middle, inner; inner panics now and then and outer catches it.
// A thread sorts.
use std::panic;

// What the compiler knows nothing of; std::hint has it only since 1.66.
#[inline(always)]
fn black_box(n: u64) -> u64 { unsafe { std::ptr::read_volatile(&n) } }

#[no_mangle] #[inline(never)]
pub fn spin(n: u64) -> u64 { let mut s = n; for i in 0..3000u64 { s = black_box(s ^ i); } s }
#[no_mangle] #[inline(never)]
pub fn inner(n: u64) -> u64 { let s = spin(n); if s % 2 == 0 { panic!("no") } s + 1 }
#[no_mangle] #[inline(never)]
pub fn middle(n: u64) -> u64 { let v = vec![n; 10]; black_box(inner(v[3])) + v[5] }
#[no_mangle] #[inline(never)]
pub fn outer(n: u64) -> u64 { let r = panic::catch_unwind(|| middle(n)).unwrap_or(3); black_box(r) + 1 }
#[no_mangle] #[inline(never)]
pub fn sorter() -> u64 {
    let mut v: Vec<u64> = (0..200).map(|i| i * 7919 % 211).collect();
    v.sort_by(|a, b| { spin(*a); a.cmp(b) });
    v[3]
}
fn main() {
    panic::set_hook(Box::new(|_| {}));
    std::thread::spawn(|| loop { black_box(sorter()); });
    let begin = std::time::Instant::now();
    let mut n = 1;
    while begin.elapsed().as_secs() < 300 { n = black_box(outer(n)); }
}
