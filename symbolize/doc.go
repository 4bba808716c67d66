// Package symbolize turns the addresses of a sampled stack into frames with
// names. It reads files and tables; it knows neither BPF nor the collector and
// has no global state.
package symbolize
