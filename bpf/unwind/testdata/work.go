// Sorting, formatting, hashing, maps, growing stacks and goroutines.
package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sort"
)

//go:noinline
func recurse(n int, f func(int) int) int {
	var pad [100]byte
	pad[n%100] = 1
	if n == 0 {
		return f(int(pad[5]))
	}
	return recurse(n-1, f) + int(pad[7])
}

func work(n int) int {
	m := map[string]float64{}
	for i := range 300 {
		m[fmt.Sprintf("key %d", i*n%211)] += float64(i)
	}
	text, _ := json.Marshal(m)
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 5)
	w.Write(text)
	w.Close()
	sum := sha256.Sum256(bytes.Repeat(text, 10))
	v := bytes.Split(text, []byte(","))
	sort.Slice(v, func(i, j int) bool { return bytes.Compare(v[i], v[j]) < 0 })
	return len(v) + int(sum[0])
}

func main() {
	for n := 0; ; n++ {
		done := make(chan int)
		go func() { done <- recurse(n%50, work) }()
		<-done
	}
}
