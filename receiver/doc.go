// Package receiver is the collector component ebpf_profiler. It samples the
// programs of a Linux host with eBPF, names the frames of their stacks and
// sends OTLP profiles down the pipeline, one profile for each process, kind of
// profile and window of time.
//
// The package joins the packages bpf (raw samples) and symbolize (addresses to
// frames) and turns what they give into pdata. It does not write files, store
// or retry: what the next component refuses is dropped and counted.
package receiver

//go:generate go tool -modfile=../internal/tools/mdatagen/go.mod mdatagen metadata.yaml
//go:generate go run ../internal/tools/metricsgen .
