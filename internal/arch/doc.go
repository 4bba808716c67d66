// Package arch holds no code of the product: its test keeps the imports of the
// module going one way. See docs/architecture.md.
package arch
