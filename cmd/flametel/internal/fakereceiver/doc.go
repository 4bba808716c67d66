// Package fakereceiver stands for the receiver in tests: it needs no privileges
// and its samples are known.
package fakereceiver
