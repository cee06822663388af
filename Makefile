# Every target is a line that you could type. Speech with reference results lies in $(HARK_SHARED); without that
# folder the tests that need it are skipped, except where CI is set.

HARK_SHARED ?= ../shared
# go test runs each package in its own folder, so a relative path would not hold.
export HARK_SHARED := $(abspath $(HARK_SHARED))
export CGO_ENABLED = 0

STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL = help

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./hark
	go build -buildvcs=auto -trimpath -o hark .

.PHONY: models
models: build ## fetch the models that the tests need, tiny.en and base (225 MB), unless they are here
	./hark models pull tiny.en base

.PHONY: cuda-tools
cuda-tools: ## fetch the compilers of the GPU's kernels (60 MB) unless they are here
	scripts/cuda/setup.sh

.PHONY: test
test: cuda-tools check models ## all tests: code, real models, official Python and Node clients, word errors of a few clips
	go test -timeout 20m ./...
	@go test -v -run '^TestTier$$' ./kernels | grep -o 'tiers unrun .*'
	scripts/clients/run.sh ./hark
	scripts/wer.sh --quick ./hark

.PHONY: test-long
test-long: test ## test, and what takes long: the word errors of the whole corpus, crashes, floods, schemathesis
	scripts/wer.sh --verbose ./hark
	HARK_LONG=1 go test -timeout 60m -run 'Crash|Soak' -v ./server
	scripts/schemathesis.sh

.PHONY: test-cuda
test-cuda: ## the GPU's path on an emulated GPU, six ways (needs g++)
	scripts/cuda/test.sh

.PHONY: device-check
device-check: build ## on a machine with an NVIDIA GPU: self-test, tests, speeds (at most nine minutes)
	scripts/cuda/device-check.sh ./hark

.PHONY: race
race: ## the tests under the race detector (needs gcc)
	CGO_ENABLED=1 go test -race -timeout 60m ./...

.PHONY: noasm
noasm: ## the tests on plain Go arithmetic, without assembly
	go test -tags noasm -short -timeout 60m ./...

.PHONY: fuzz
fuzz: ## every fuzz target for a minute
	scripts/fuzz.sh 60s

.PHONY: mutants
mutants: ## take each guard of the batcher away and see that a test fails (ten minutes)
	go run ./scripts/mutants

.PHONY: bench
bench: ## the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: decode-speed
decode-speed: ## time decoding of every format beside ffmpeg (needs ffmpeg and the corpus)
	python3 scripts/decode-speed.py $(HARK_SHARED)

.PHONY: generate
generate: ## make the generated files anew
	go generate ./...

.PHONY: check
check: ## format, vet, staticcheck, stale generated files
	scripts/gofmt.sh
	go vet ./...
	$(STATICCHECK) ./...
	scripts/stale.sh

.PHONY: peers
peers: build models ## compare with other programs (an hour; scripts/peers/README.md has the set-up)
	scripts/peers/run.sh all

.PHONY: clean
clean: ## remove what was built and fetched into this folder (models stay in the user's cache)
	rm -rf hark .cache
	go clean -testcache
