// Package suggest tells how alike two names are, for errors that ask whether
// another name was meant.
package suggest
