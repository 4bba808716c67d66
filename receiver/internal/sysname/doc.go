// Package sysname names system calls and errors by their numbers. The tables
// are made of those in golang.org/x/sys/unix.
package sysname

//go:generate go run gen.go
