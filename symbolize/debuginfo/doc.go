// Package debuginfo finds the symbols of programs that do not carry them:
// in the compressed table inside the program (MiniDebugInfo), in separate
// debug files named by build ID or debug link, and on debuginfod servers.
//
// All of it may come from people who want to harm the profiler. Sizes are
// known and bounded before anything is unpacked, read or kept, a file is taken
// only if it belongs to the program, and servers are asked in the background.
package debuginfo
