//go:build !linux

package live

import (
	"fmt"
	"runtime"
)

// Open fails: there is nothing to look at.
func Open(*Options) (Source, error) {
	return nil, fmt.Errorf("events need Linux, this is %s", runtime.GOOS)
}
