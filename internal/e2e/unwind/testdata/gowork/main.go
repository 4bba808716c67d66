// Work of the Go runtime and of its assembly: as the argument says.
package main

import (
	"bytes"
	"crypto/sha256"
	"hash/crc32"
	"os"
	"runtime"
	"time"
)

var sink byte

//go:noinline
func mover(dst, src []byte) {
	for range 10 {
		copy(dst, src)
	}
	sink += dst[len(dst)/2]
}

//go:noinline
func finder(text []byte) {
	for range 10 {
		sink += byte(bytes.IndexByte(text, 'x'))
	}
}

//go:noinline
func hasher(text []byte) {
	sum := sha256.Sum256(text)
	sink += sum[3] + byte(crc32.ChecksumIEEE(text))
}

// recurse needs a stack that has to grow often.
//
//go:noinline
func recurse(n int) byte {
	var frame [1024]byte
	frame[n%1024] = byte(n)
	if n == 0 {
		return frame[5]
	}
	return recurse(n-1) + frame[n%512]
}

//go:noinline
func grower() {
	done := make(chan byte)
	go func() { done <- recurse(1000) }()
	sink += <-done
}

// allocator enters the allocator and the collector, which run on the stack of
// the thread.
//
//go:noinline
func allocator() {
	list := make([][]byte, 1000)
	for i := range list {
		list[i] = make([]byte, 1000+i)
	}
	sink += list[sink][0]
}

//go:noinline
func yielder() {
	for range 1000 {
		runtime.Gosched()
	}
}

func main() {
	time.AfterFunc(5*time.Minute, func() { os.Exit(0) })
	text := bytes.Repeat([]byte("abc"), 1<<20)
	other := make([]byte, len(text))
	for {
		switch os.Args[1] {
		case "mover":
			mover(other, text)
		case "finder":
			finder(text)
		case "hasher":
			hasher(text)
		case "grower":
			grower()
		case "allocator":
			allocator()
		case "yielder":
			yielder()
		}
	}
}
