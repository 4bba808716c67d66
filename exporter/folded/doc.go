// Package folded writes and reads folded text: one line for each distinct
// stack, its frames root first and joined by semicolons, a space, the count.
//
//	nginx;main;serve;[libssl.so.3]+0x1f2a0;ksys_read_[k] 1042
//
// The first frame is the process. Annotations at the end of a name are those of
// the folded ecosystem, so that other flame-graph tools colour by them:
//
//	_[k]  kernel
//	_[j]  code made or interpreted by a runtime
//	_[i]  user code that was inlined into the frame before it
//
// A frame has at most one; kernel and runtime code that was inlined keeps _[k]
// and _[j].
//
// With Options.Modules the module stands before a name, as DTrace and
// async-profiler write it: libc.so.6`read.
//
// What would break a line is replaced in names: a semicolon by a colon, tabs
// and line breaks by a space, any other control character, line separator and
// byte that is not UTF-8 by U+FFFD. An empty name is written as [unknown],
// and one that others take for a delimiter, - or --, in parentheses.
package folded
