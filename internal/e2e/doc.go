// Package e2e holds the tests that run the built collector on real processes.
// They need root, gcc and a kernel with eBPF, and carry the build tag
// integration.
package e2e
