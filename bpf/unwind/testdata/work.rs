// Collections, formatting, closures and threads.
use std::collections::{BTreeMap, HashMap};

#[inline(never)]
fn recurse(depth: u32, f: &dyn Fn(u64) -> String) -> usize {
    if depth == 0 {
        return f(depth as u64).len();
    }
    let s = f(depth as u64);
    recurse(depth - 1, f) + s.len()
}

// std::hint::black_box is only in compilers since 1.66.
fn used(n: usize) {
    unsafe { std::ptr::read_volatile(&n) };
}

fn main() {
    let mut total = 0usize;
    for i in 0u64.. {
        let mut h: HashMap<String, u64> = HashMap::new();
        let mut b = BTreeMap::new();
        for j in 0..100 {
            *h.entry(format!("key {}", (i * j) % 37)).or_insert(0) += j;
            b.insert(i.wrapping_mul(j) % 101, j.to_string());
        }
        let mut v: Vec<_> = h.into_iter().collect();
        v.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        total += recurse((i % 30) as u32, &|n| format!("{:?} {:e}", n, n as f64 * 1.5));
        total += v.len() + b.len();
        used(total);
    }
}
