// Package formats knows every format that profiles are written to and read from,
// and finds out which one a file has by looking into it.
package formats
