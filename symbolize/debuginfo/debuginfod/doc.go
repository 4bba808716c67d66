// Package debuginfod fetches debug files by build ID from debuginfod servers
// (debuginfod(8) of elfutils) and keeps them in a directory.
//
// Find never waits for a server: it answers from the directory, and what is
// not there is fetched in the background, so that a later Find has it. Servers
// that are slow, dead or hostile cost a bounded queue, two connections, and
// disk space up to the bound of the directory.
package debuginfod
