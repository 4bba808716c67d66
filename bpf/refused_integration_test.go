//go:build integration && linux

package bpf

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/require"
)

// When the verifier refuses to walk by tables, the program is loaded without
// them, and the reason is told once.
func TestTablesThatAreRefused(t *testing.T) {
	tables, err := NewTables(1<<16, 1<<10)
	require.NoError(t, err)
	defer func() { require.NoError(t, tables.Close()) }()
	var told []error
	opts := Options{Frequency: 99, Tables: tables, OnTablesRefused: func(err error) { told = append(told, err) }}
	of := profileObject(&opts)
	loads := 0
	of.fit = func(spec *ebpf.CollectionSpec) error {
		if loads++; loads == 1 {
			code := &spec.Programs[profileProgProfile].Instructions
			*code = slices.Insert(*code, 1, asm.Mov.Reg(asm.R0, asm.R5)) // which has no value when a program begins
		}
		return nil
	}
	o, err := load(&opts, of)
	require.NoError(t, err)
	defer o.close()
	require.Equal(t, 2, loads)
	require.Nil(t, opts.Tables)
	require.Len(t, told, 1)
	require.ErrorContains(t, told[0], `load program "profile"`)
	require.ErrorContains(t, told[0], "R5 !read_ok")
}
