// Package kernel names the code of the running kernel, of its modules and of
// BPF programs, from the text of /proc/kallsyms.
//
// That text gives the start of each symbol and never its size. A function ends
// where the next symbol starts, of whatever kind and also one that is not kept
// as a name; the last one of a module or of the kernel ends soon (see
// maxUnknownSize). An address beyond an end has no name: a wrong neighbour is
// worse than none.
package kernel
