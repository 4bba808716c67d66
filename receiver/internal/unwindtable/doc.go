// Package unwindtable keeps the kernel supplied with unwind tables: for each
// process that is sampled it lists the executable mappings and loads the rows
// of the files behind them, once for each file.
//
// A process gets its tables when the kernel asks for them, at its first
// sample, and again when it maps other code. Files are compiled in the
// background, one after the other, and what is ready is used at once. Rows
// live in a pool of fixed size; when it is full, the files that no running
// process uses give way, then those that were not seen in stacks for a while.
// Memory of the pools is used again only when no program can still be reading
// it.
package unwindtable
