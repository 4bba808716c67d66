// Package record makes one recording: it runs the receiver and one exporter for
// each output in this process, for as long as asked, and says what came of it.
package record
