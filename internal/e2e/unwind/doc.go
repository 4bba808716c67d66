// Package unwind holds the tests that profile programs whose calls are known
// and ask for complete stacks: code of several compilers and flags, unusual
// stacks, runtimes, and programs whose code changes while they run. They go
// through the receiver as a collector would use it, need root and a kernel with
// eBPF, and carry the build tag integration.
package unwind
