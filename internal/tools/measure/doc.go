// Package measure holds what the measuring tools share: statistics, tables,
// what a process uses, and the load to measure under. It is no part of the
// product.
package measure
