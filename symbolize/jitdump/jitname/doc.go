// Package jitname takes the names apart that runtimes write into perf maps and
// jitdump files: one function compiled in several tiers gets one name, the
// tier and the source file are told beside it, and the runtime is known. It is
// text in, facts out: nothing is read, nothing is kept, and what is not
// understood is returned as it came.
package jitname
