// Package window adds up named samples between two points in time. A Window is
// filled by one goroutine, closed, and then handed to another that only reads
// it; nothing in it is safe for concurrent use.
//
// Stacks are compared by the addresses of their frames, which the symbolizer
// shares, so adding a sample costs one hash over a few hundred bytes and two
// map look-ups. Frames of equal content at different addresses are told apart
// here and merged when pdata is built.
package window
