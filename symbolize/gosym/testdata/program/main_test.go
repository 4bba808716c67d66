package main

import "testing"

// TestMain makes the test binary do what the program does.
func TestMain(*testing.M) { main() }
