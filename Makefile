# Flametel. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

GO ?= go
# It leaves a folder in that of temporary files.
OCB := $(GO) tool -modfile=internal/tools/ocb/go.mod builder
# Many tests look at a live host, where something happens once in a thousand runs that no test can
# foresee. A test that fails is run once more, and is named as failed first whatever comes of it; if
# more than six fail, subtests counted, none is.
GOTESTSUM := $(GO) tool -modfile=internal/tools/gotestsum/go.mod gotestsum --format=standard-quiet \
	--rerun-fails=1 --rerun-fails-max-failures=6 --rerun-fails-run-root-test
SETUP := ./internal/tools/setup.sh
GOLANGCI_VERSION := v2.15.0

# How long `make run` profiles this host, and each fuzz target runs.
RUN_SECONDS ?= 15
FUZZ_TIME ?= 20s
# Packages whose tests run at the same time, and what else to give to go test.
TEST_PARALLEL ?= 2
TEST_FLAGS ?=
# What else to give to bench-events: -only and -victims choose parts of it.
BENCH_FLAGS ?=

# bpftool, nginx and mount live in the administrator's folders.
export PATH := $(PATH):/usr/local/go/bin:/usr/sbin:/sbin
# Our programs use no C library. A clone owned by another user has no readable git state.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -buildvcs=false

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: build-otelcol build-flametel ## build bin/otelcol (with ocb) and bin/flametel

.PHONY: build-otelcol
build-otelcol:
	@mkdir -p bin
	@tmp=$$(mktemp -d); TMPDIR=$$tmp $(OCB) --config builder-config.yaml --skip-generate --skip-get-modules --ldflags=-w >$$tmp/log 2>&1 \
		|| { cat $$tmp/log >&2; rm -rf $$tmp; exit 1; }; rm -rf $$tmp
	@mv cmd/otelcol/otelcol bin/otelcol

.PHONY: build-flametel
build-flametel:
	@mkdir -p bin
	@$(GO) build -trimpath -ldflags=-w -o bin/flametel ./cmd/flametel

.PHONY: man
man: build-flametel ## write the manual pages into bin/man/man1
	@mkdir -p bin/man/man1
	@bin/flametel man --folder bin/man/man1
	@echo "bin/man/man1: $$(ls bin/man/man1 | tr '\n' ' ')"

.PHONY: run
run: setup-run build ## profile this host for 15 s with the collector, as root, and say where the flame graph is
	@if [ "$$(id -u)" -ne 0 ]; then echo "make run: sampling a whole host needs root: sudo make run" >&2; exit 1; fi
	@echo "profiling this host for $(RUN_SECONDS) s: bin/otelcol --config examples/collector.yaml"
	@log=$$(mktemp); timeout --preserve-status --signal=INT --kill-after=30 $(RUN_SECONDS) \
		bin/otelcol --config examples/collector.yaml >$$log 2>&1 || { cat $$log >&2; rm -f $$log; exit 1; }; rm -f $$log
	@svg=$$(ls -t profiles/*.svg 2>/dev/null | head -n 1); \
		if [ -z "$$svg" ]; then echo "make run: the collector wrote no flame graph into profiles/" >&2; exit 1; fi; \
		echo; \
		echo "The flame graph of this host: $$PWD/$$svg (open it in a browser)"; \
		echo; \
		echo "How to go on:"; \
		echo "  bin/flametel record -d 30 -o profile.svg         record 30 s of the whole host"; \
		echo "  bin/flametel record -p PID -o -                  one process, folded stacks on standard output"; \
		echo "  bin/otelcol --config examples/collector.yaml     go on profiling, a picture every minute"; \
		echo "  README.md                                        what can be configured"

.PHONY: test
test: setup-test build ## run every test (as root: many profile real processes)
	$(GO) vet -tags integration ./...
	$(GOTESTSUM) --packages=./... -- -tags integration -timeout 25m -p $(TEST_PARALLEL) $(TEST_FLAGS)
	cd cmd/otelcol && $(GO) vet ./... && $(GO) test $(TEST_FLAGS) ./...

.PHONY: bench
bench: bench-go bench-svg bench-start bench-command bench-agent bench-symbols bench-nginx bench-events ## measure; docs/benchmarks.md says what and how

.PHONY: bench-go
bench-go: setup-test build ## Go benchmarks, BPF nanoseconds per sample among them
	$(GO) test -tags integration -run '^$$' -bench . -benchmem -p 1 -timeout 60m ./...

.PHONY: bench-svg
bench-svg: setup-test setup-bench build-flametel ## drawing flame graphs, their size, and what a browser makes its user wait, beside others
	$(GO) run ./exporter/internal/benchsvg

.PHONY: bench-start
bench-start: setup-bench build ## from start to first sample, from end of recording to finished file
	$(GO) run ./internal/tools/bench start

.PHONY: bench-command
bench-command: setup-bench build ## what users of flametel record wait for and pay, beside the goals
	$(GO) run ./internal/tools/bench command

.PHONY: bench-agent
bench-agent: setup-bench build ## CPU and memory of flametel and otelcol, host idle and busy
	$(GO) run ./internal/tools/bench agent

.PHONY: bench-symbols
bench-symbols: setup-bench build ## memory of flametel while 300 processes run code of 150 libraries
	$(GO) run ./internal/tools/bench symbols

.PHONY: bench-nginx
bench-nginx: setup-bench build ## what profiling costs nginx: nothing, flametel and perf in turn
	$(GO) run ./internal/tools/bench nginx

.PHONY: bench-events
bench-events: setup-bench build ## what looking at events costs programs, beside others
	$(GO) run ./internal/tools/bench events $(BENCH_FLAGS)

.PHONY: gallery
gallery: setup-gallery build-flametel ## record the workloads of docs/gallery anew, as root
	$(GO) run ./internal/tools/gallery $(SCENES)

.PHONY: compare-perf
compare-perf: setup-bench build ## the same processes in the same seconds, by perf and by flametel
	$(GO) run ./internal/tools/compareperf

.PHONY: kernels
kernels: ## record workloads on Debian's other kernels, x86-64 and arm64, under qemu
	$(SETUP) kernels
	$(GO) run ./internal/tools/kernels

.PHONY: generate
generate: setup-generate ## make the BPF objects, the component metadata and the collector's sources again
	$(GO) generate ./...
	tmp=$$(mktemp -d); trap 'rm -rf '$$tmp EXIT; TMPDIR=$$tmp $(OCB) --config builder-config.yaml --skip-compilation

.PHONY: generate-check
generate-check: generate ## fail if what is generated differs from what is committed
	git diff --exit-code -- bpf receiver exporter cmd/otelcol

.PHONY: lint
lint: setup-lint ## formatting, go vet, import directions, golangci-lint
	@unformatted=$$(git ls-files -z '*.go' | xargs -0 grep -LE '^// Code generated .* DO NOT EDIT' | xargs gofmt -l); \
		if [ -n "$$unformatted" ]; then echo "gofmt: $$unformatted" >&2; exit 1; fi
	find bpf/src -name '*.[ch]' -print0 | xargs -0 clang-format-14 --dry-run -Werror
	$(GO) vet -tags integration ./...
	$(GO) test ./internal/arch
	.tools/golangci-lint run --build-tags integration ./...

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZ_TIME
	@for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
		for target in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -d ' ' -f 2); do \
			echo "$$dir $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) -fuzzminimizetime 10x ./$$dir; \
		done; \
	done

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .tools

.PHONY: setup-run setup-test setup-generate setup-bench setup-gallery setup-lint
setup-run setup-test setup-generate setup-bench setup-gallery:
	@$(SETUP) $(@:setup-%=%)

setup-lint: .tools/golangci-lint
	@$(SETUP) lint

.tools/golangci-lint:
	GOBIN=$(CURDIR)/.tools $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
