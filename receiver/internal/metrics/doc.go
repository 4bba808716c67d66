// Package metrics adds up what sources count into OTLP metrics: sums and
// histograms for each process, from the first time it is seen on. How many
// processes and how many series of each there are is bounded; what is beyond
// that is added up in one process called "other" and in one series with the
// attribute otel.metric.overflow. Names, units and attributes are those that
// metadata.yaml declares.
package metrics
