//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flametel/flametel/internal/tools/measure"
)

// A workload is a program that runs until it is killed.
type workload struct {
	name    string
	command []string
	flat    bool // no function leads: compare modules
}

func workloads(dir string) ([]workload, error) {
	const forever = "3600"
	python, err := measure.Workload("python_busy.py")
	if err != nil {
		return nil, err
	}
	node, err := measure.Workload("node_busy.js")
	if err != nil {
		return nil, err
	}
	burn, err := measure.Compile(dir, "burn")
	if err != nil {
		return nil, err
	}
	big := filepath.Join(dir, "big.c")
	if err := writeBigSource(big); err != nil {
		return nil, err
	}
	// Profilers follow the children that appear after they have started, so the
	// first compiler has to wait for them.
	compile := fmt.Sprintf("sleep %d; while :; do gcc -O2 -c -o /dev/null %s; done", int(2*settle.Seconds()), big)
	return []workload{
		{name: "burn", command: []string{burn, forever}},
		{name: "python3", command: []string{"python3", python, forever}},
		{name: "node", command: []string{"node", "--perf-basic-prof", node, forever}},
		{name: "dd", command: []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "status=none"}},
		{name: "gcc -O2", command: []string{"sh", "-c", compile}, flat: true},
	}, nil
}

// writeBigSource writes a C program that keeps the compiler busy for a second or
// more.
func writeBigSource(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	w := bufio.NewWriter(file)
	fmt.Fprintln(w, "extern unsigned other(unsigned, unsigned);")
	for i := range 200 {
		fmt.Fprintf(w, `unsigned f%[1]d(unsigned *a, unsigned n)
{
	unsigned sum = %[1]d;
	for (unsigned i = 0; i < n; i++) {
		switch ((a[i] ^ sum) %% 7) {
		case 0: sum += other(sum, a[i]); break;
		case 1: sum = sum * %[2]d + a[(i + %[3]d) %% n]; break;
		case 2: a[i] = sum >> 3; break;
		case 3: for (unsigned j = i; j < n; j += %[3]d) sum ^= a[j] + j; break;
		default: sum -= a[i] / (sum | 1);
		}
	}
	return sum;
}
`, i, i*2654435761%1000003, i%11+1)
	}
	return w.Flush()
}
