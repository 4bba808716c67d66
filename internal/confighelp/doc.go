// Package confighelp makes errors of a component's configuration say more: which
// component each is about, and which key was meant.
package confighelp
