package bpf

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// KernelSymbols returns the symbols of the running kernel in the format of
// /proc/kallsyms, with their addresses also where that file hides them. It
// needs kernel 6.0; before, the error is ebpf.ErrNotSupported, wrapped. The
// caller closes the result.
func KernelSymbols() (io.ReadCloser, error) {
	spec, err := loadKsym()
	if err != nil {
		return nil, err
	}
	objects, err := ebpf.NewCollection(spec)
	if err != nil {
		// Before 6.0 the kernel has no type that the program could attach to.
		return nil, loadError("kernel_symbols", err)
	}
	defer objects.Close()
	l, err := link.AttachIter(link.IterOptions{Program: objects.Programs[ksymProgKernelSymbols]})
	if err != nil {
		return nil, fmt.Errorf("iterate over kernel symbols: %w", err)
	}
	r, err := l.Open()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("iterate over kernel symbols: %w", err), l.Close())
	}
	return &iterReader{r, l}, nil
}

// iterReader closes the link with the reader.
type iterReader struct {
	io.ReadCloser
	link io.Closer
}

func (r *iterReader) Close() error {
	return errors.Join(r.ReadCloser.Close(), r.link.Close())
}
