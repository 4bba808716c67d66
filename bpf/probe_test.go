//go:build linux

package bpf

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"
)

// kernelWith makes the types of a kernel that has these tracepoints.
func kernelWith(t *testing.T, events ...string) *btf.Spec {
	t.Helper()
	var types []btf.Type
	for _, e := range events {
		proto := &btf.FuncProto{Return: &btf.Void{}, Params: []btf.FuncParam{{Type: &btf.Pointer{Target: &btf.Void{}}}}}
		types = append(types, &btf.Typedef{Name: "btf_trace_" + e, Type: &btf.Pointer{Target: proto}})
	}
	b, err := btf.NewBuilder(types, nil)
	require.NoError(t, err)
	spec, err := b.Spec()
	require.NoError(t, err)
	return spec
}

func TestHooksThatAreMissing(t *testing.T) {
	p := &Probe{hooks: []hook{
		{program: "must", event: "always", since: "5.5"},
		{program: "may", event: "sometimes", since: "6.1", optional: true},
		{program: "instead", event: "other", since: "6.3", optional: true, unless: []string{"sometimes"}},
	}}
	var without []string
	programs := func(events ...string) (names []string, err error) {
		spec := &ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{"must": nil, "may": nil, "instead": nil}}
		err = p.fitTo(&kernelHooks{kernelWith(t, events...), without}, spec)
		for _, name := range []string{"must", "may", "instead"} {
			if _, ok := spec.Programs[name]; ok {
				names = append(names, name)
			}
		}
		return names, err
	}
	got, err := programs("always", "sometimes", "other")
	require.NoError(t, err)
	require.Equal(t, []string{"must", "may"}, got)
	got, err = programs("always", "other")
	require.NoError(t, err)
	require.Equal(t, []string{"must", "instead"}, got)
	got, err = programs("always")
	require.NoError(t, err)
	require.Equal(t, []string{"must"}, got)

	without = []string{"sometimes"}
	got, err = programs("always", "sometimes", "other")
	require.NoError(t, err)
	require.Equal(t, []string{"must", "instead"}, got, "what is hidden does not make others superfluous")
	without = nil

	_, err = programs("sometimes")
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.EqualError(t, err, "this kernel has no tracepoint always, which came with Linux 5.5")
	require.True(t, errors.Is(err, errors.ErrUnsupported))
}

func TestMissingErrorNamesTheOption(t *testing.T) {
	err := &MissingError{Feature: "type information", Since: "5.4", Option: "CONFIG_DEBUG_INFO_BTF=y"}
	require.EqualError(t, err, "this kernel has no type information, which came with Linux 5.4 and needs CONFIG_DEBUG_INFO_BTF=y")
}
