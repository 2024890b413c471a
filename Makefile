# flyte-binary. `make` lists the targets; `make demo` and `make test` do all their own set-up.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The same compiler flags for builds, tests and lint: other flags would compile the API server's packages a second time.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false
export GOTOOLCHAIN ?= local
# Where the tests find the programs that they start.
export FLYTE_BINARY_DEMO := $(CURDIR)/bin/flyte-binary
export KUBEBUILDER_ASSETS := $(CURDIR)/.bin
# The SDK reports its crashes elsewhere unless told not to.
export FLYTE_DISABLE_SENTRY := 1

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
KUBERNETES := 1.36.3
LDFLAGS := -s -w -X github.com/flyte-binary/flyte-binary/manager/command.Version=$(VERSION)
DEMO_LDFLAGS := $(LDFLAGS) -X k8s.io/component-base/version.gitVersion=v$(KUBERNETES) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(KUBERNETES))) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBERNETES)))

GOTESTSUM := v1.13.0
GOLANGCI := v2.15.0
BIN := .bin

##@ Use

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: build-demo ## Start a whole backend here, run a sample through the SDK, stay up until Ctrl-C
	@scripts/toolchain.sh python
	@scripts/system-packages.sh postgres venv
	@scripts/python-env.sh .cache/demo-python -r examples/requirements.txt
	@exec bin/flyte-binary demo --python .cache/demo-python --sample examples/fanout.py $(DEMO_FLAGS)

##@ Build

.PHONY: build build-demo build-slim console
build: build-demo build-slim ## Build both programs into bin/

console: console/dist/index.html ## Build the web console that the programs carry

console/node_modules/.package-lock.json: console/package-lock.json
	@scripts/toolchain.sh node
	npm ci --prefix console --no-fund --no-audit --loglevel=error
	@touch $@

console/dist/index.html: console/node_modules/.package-lock.json console/index.html console/vite.config.ts \
		$(shell find console/src console/public gen/ts -type f 2>/dev/null)
	npm run --prefix console --silent build

build-demo: console ## Build bin/flyte-binary, the program with the demo mode
	@scripts/toolchain.sh go
	@mkdir -p bin
	@[ -x bin/flyte-binary ] || echo "Building bin/flyte-binary (the first time takes some minutes: it carries a Kubernetes API server) ..."
	cd demo && go build -ldflags '$(DEMO_LDFLAGS)' -o ../bin/flyte-binary ./cmd/flyte-binary

build-slim: console ## Build bin/flyte-binary-slim, what the container image has
	@scripts/toolchain.sh go
	@mkdir -p bin
	go build -ldflags '$(LDFLAGS)' -o bin/flyte-binary-slim ./manager/cmd/flyte-binary

##@ Test

.PHONY: test
test: setup build cluster-tools s3-server e2e-python ## Run all tests
	scripts/test.sh

.PHONY: test-go
test-go: $(BIN)/gotestsum-$(GOTESTSUM) build-demo cluster-tools s3-server ## Run the Go tests alone; PKG=./runs/... for some of them
	$(BIN)/gotestsum --format pkgname-and-test-fails -- -p 2 $(or $(PKG),./...)
	$(if $(PKG),,cd demo && ../$(BIN)/gotestsum --format pkgname-and-test-fails -- -p 2 ./...)

.PHONY: test-race
test-race: build-demo cluster-tools s3-server ## Run the Go tests with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -p 2 $(or $(PKG),./...)
	$(if $(PKG),,cd demo && CGO_ENABLED=1 go test -race -p 2 ./...)

.PHONY: e2e
e2e: setup build cluster-tools s3-server e2e-python ## Run the end-to-end tests through the released SDK; ARGS='-k name' for some of them
	.cache/e2e-python/bin/python -m pytest e2e $(ARGS)

.PHONY: console-test
console-test: console/node_modules/.package-lock.json ## Run the console's unit tests
	npm run --prefix console --silent test

.PHONY: console-e2e
console-e2e: build-demo cluster-tools e2e-python ## Run the console's tests in a browser against a demo; ARGS='-g words' for some of them
	@scripts/system-packages.sh postgres browser
	npm run --prefix console --silent e2e -- $(ARGS)

.PHONY: console-screenshots
console-screenshots: build-demo cluster-tools e2e-python ## Take pictures of every screen of the console into console/screenshots/
	@scripts/system-packages.sh postgres browser
	cd console && npx --no-install playwright test -c playwright.pictures.config.ts $(ARGS)

.PHONY: console-bench
console-bench: build-demo cluster-tools ## Measure the console with a run of 100,000 actions; CONSOLE_BENCH_URL=address for one that is there
	@scripts/system-packages.sh postgres browser
	cd console && npx --no-install playwright test -c playwright.bench.config.ts $(ARGS)

.PHONY: bench
bench: build-demo cluster-tools ## Measure, and print tables
	go run ./bench $(ARGS)

.PHONY: soak
soak: build-demo cluster-tools ## Work for ten minutes and show that nothing grows; ARGS='-soakfor 0 -soak 200000' for more
	go run ./bench -cases soak -soakfor 10m -timeout 3h $(ARGS)

.PHONY: faults
faults: build-demo cluster-tools ## Break everything while it works, and check what is promised; ARGS='-seeds 200 -first 1 -minutes 60'
	go run ./faults $(ARGS)

##@ Check

.PHONY: lint
lint: $(BIN)/golangci-lint-$(GOLANGCI) buf console/node_modules/.package-lock.json ## Run the linters
	$(BIN)/golangci-lint run --allow-parallel-runners ./...
	cd demo && ../$(BIN)/golangci-lint run --allow-parallel-runners --config ../.golangci.yml ./...
	npm run --prefix console --silent check
	npm run --prefix console --silent lint
	tools/node_modules/.bin/buf lint

.PHONY: generate
generate: $(BIN)/protoc-gen-go buf ## Write every generated file anew
	cd tools && go run ./protodeps ../third_party/proto
	rm -rf gen/flytebinary gen/flyteidl2 gen/ts
	tools/node_modules/.bin/buf generate
	tools/node_modules/.bin/buf generate --template buf.gen.ts.yaml
	go generate ./executor/api/... ./manager/...

.PHONY: verify
verify: ## Prove that generated files and module files are current
	scripts/verify-generated.sh
	go mod tidy -diff
	cd demo && go mod tidy -diff
	tools/node_modules/.bin/buf breaking --against '.git#ref=HEAD'

##@ Tools

.PHONY: setup
setup: tools ## Install all that tests need on a fresh machine
	@scripts/toolchain.sh go node python
	@scripts/system-packages.sh postgres venv browser iptables

.PHONY: tools
tools: $(BIN)/gotestsum-$(GOTESTSUM) $(BIN)/protoc-gen-go buf ## Install the pinned tools into .bin/ and tools/node_modules/

.PHONY: cluster-tools
cluster-tools: build-demo
	@tools/kube/build.sh

.PHONY: s3-server
s3-server: $(BIN)/versitygw

$(BIN)/versitygw: tools/s3server/go.mod tools/s3server/go.sum
	cd tools/s3server && GOBIN=$(CURDIR)/$(BIN) go install -ldflags '-s -w' tool
	@touch $@

.PHONY: e2e-python
e2e-python:
	@scripts/python-env.sh .cache/e2e-python -r e2e/requirements.txt

.PHONY: buf
buf: tools/node_modules/.package-lock.json

tools/node_modules/.package-lock.json: tools/package-lock.json
	@scripts/toolchain.sh node
	npm ci --prefix tools --no-fund --no-audit --loglevel=error
	@touch $@

$(BIN)/gotestsum-$(GOTESTSUM):
	GOBIN=$(CURDIR)/$(BIN) go install gotest.tools/gotestsum@$(GOTESTSUM)
	@touch $@

$(BIN)/golangci-lint-$(GOLANGCI):
	GOBIN=$(CURDIR)/$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	@touch $@

$(BIN)/protoc-gen-go: tools/go.mod
	cd tools && GOBIN=$(CURDIR)/$(BIN) go install tool
	@touch $@

.PHONY: clean
clean: ## Remove what was built; keeps downloads
	rm -rf bin $(BIN) .cache/e2e-python .cache/demo-python console/test-results console/screenshots
	find console/dist -mindepth 1 ! -name .keep -delete
