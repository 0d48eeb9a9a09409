# Everything is built and tested by exactly this Go; go.mod lets older ones build.
export GOTOOLCHAIN := go1.27.3
export CGO_ENABLED ?= 0

# The commit that `make quick` compares the work tree with.
BASE ?= HEAD
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## bin/steward
	@test -d cmd/steward || { echo "build: not built yet: there is no cmd/steward"; exit 1; }
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/steward ./cmd/steward

.PHONY: demo
demo: build ## the main job, offline
	bin/steward demo

.PHONY: test
test: ## all Go suites; needs Go and nothing else
	go test -count=1 -timeout 10m ./...

.PHONY: quick
quick: ## for every commit: format, house, vet, and the packages that differ from BASE (HEAD)
	@scripts/quick '$(BASE)'

.PHONY: check
check: ## all that CI runs; needs gcc, npm, root and strace
	@scripts/step format $(MAKE) -s format
	@scripts/step house $(MAKE) -s house
	@scripts/step pins $(MAKE) -s pins
	@scripts/step vet $(MAKE) -s vet
	@scripts/step lint $(MAKE) -s lint
	@scripts/step test $(MAKE) -s test
	@scripts/step demo $(MAKE) -s demo
	@scripts/step race $(MAKE) -s race
	@scripts/step fuzz $(MAKE) -s fuzz
	@scripts/step npm-suite $(MAKE) -s npm-suite
	@scripts/step machine-suite $(MAKE) -s machine-suite
	@scripts/step linear $(MAKE) -s linear
	@scripts/step vendors $(MAKE) -s vendors
	@scripts/step cross $(MAKE) -s cross
	@scripts/step vuln $(MAKE) -s vuln

.PHONY: format
format: ## fails where gofmt would change a file
	@scripts/format

.PHONY: house
house: ## the rules at the root: floors, sizes, package pages, text
	go test -count=1 .

.PHONY: pins
pins: ## every go.mod is tidy, and the SQLite pair fits
	go mod tidy -diff
	cd test/linear && go mod tidy -diff
	cd test/lossyfs && go mod tidy -diff
	cd test/vendors && go mod tidy -diff
	@scripts/libc-pin

.PHONY: vet
vet: ## go vet, also of what build tags hide
	go vet ./...
	go vet -tags npm,failpoints,machine ./...

.PHONY: lint
lint: ## the linters of .golangci.yml
	go tool -modfile=tools/go.mod golangci-lint run ./...

.PHONY: race
race: ## the race detector once over all packages; needs gcc
	@scripts/race

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (3s)
	@scripts/fuzz

.PHONY: npm-suite
npm-suite: ## outside servers and the conformance suite; needs npm
	@scripts/npm-suite

.PHONY: npm-lock
npm-lock: ## renew test/npm/package-lock.json from package.json; needs npm
	@scripts/npm-setup lock

.PHONY: cross
cross: ## compile for Linux and macOS, amd64 and arm64
	@scripts/cross

.PHONY: vuln
vuln: ## known vulnerabilities that the code reaches
	@scripts/vuln

.PHONY: bench
bench: build ## what it costs, beside what the machine does without it; BENCH has flags
	go run ./bench $(BENCH)

.PHONY: generate
generate: ## the reference pages from the tables in code; `make test` says when they are old
	go test -run TestGeneratedPagesAreFresh -update .

.PHONY: machine-suite
machine-suite: ## disks that fill or lose power, calls that fail, files of others; needs root, strace, /dev/fuse
	@scripts/machine-suite

.PHONY: linear
linear: ## histories of the store against sequential models
	cd test/linear && go vet ./... && go test -count=1 -timeout 10m ./...

.PHONY: vendors
vendors: ## the clients of the models' vendors judge ours; minutes and 2 GiB to compile them once
	cd test/vendors && go vet ./... && go test -count=1 -timeout 10m ./...

.PHONY: gate
gate: ## the proofs in their larger size, about two hours; needs gcc, root, strace, /dev/fuse
	@scripts/gate gate

.PHONY: release-gate
release-gate: ## the proofs as before a release, many hours
	@scripts/gate release
