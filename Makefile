# flyte-binary. `make` lists the targets; `make demo` and `make test` do all their own set-up.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The same compiler flags for builds, tests and lint: other flags would compile the API server's packages a second time.
export CGO_ENABLED := 0
# The tags leave out what nothing here uses and what doubles the program: grpc's page of traces, whose template makes the linker
# keep every exported method, and Google Storage's own transport, which carries Envoy's API (docs/performance.md#memory-of-an-idle-server).
export GOFLAGS := -trimpath -buildvcs=false -tags=grpcnotrace,disable_grpc_modules
export GOTOOLCHAIN ?= local
# Where the tests find the programs that they start.
export FLYTE_BINARY_DEMO := $(CURDIR)/bin/flyte-binary
export KUBEBUILDER_ASSETS := $(CURDIR)/.bin
# The tests and make demo use the Postgres that the demo brings; its directory, if another one is not chosen already.
export FLYTE_PG_BIN ?= $(CURDIR)/.cache/postgres/bin
# The SDK reports its crashes elsewhere unless told not to.
export FLYTE_DISABLE_SENTRY := 1

VERSION ?= $(shell git describe --tags --always --abbrev=10 --dirty 2>/dev/null || echo unknown)
KUBERNETES := 1.36.3
LDFLAGS := -s -w -X github.com/flyte-binary/flyte-binary/manager/command.Version=$(VERSION)
DEMO_LDFLAGS := $(LDFLAGS) -X k8s.io/component-base/version.gitVersion=v$(KUBERNETES) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(KUBERNETES))) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBERNETES)))

BIN := .bin
BREAKING := tools/node_modules/.bin/buf breaking proto --against proto/published.binpb --exclude-imports

# Compilers and linkers collect garbage less often than by default, which saves a sixth of their CPU time. Programs that make
# starts are not touched. tools/suites.py does the same for tests and linters.
build-demo build-slim image check lint $(BIN)/%: export GOGC ?= 400
build-demo build-slim image check lint $(BIN)/%: export GOMEMLIMIT ?= 4GiB

##@ Use

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: build-demo ## Start a complete backend here, run a sample through the SDK, stay up until Ctrl-C
	@tools/toolchain.sh python
	@tools/system-packages.sh venv
	@tools/python-env.sh .cache/demo-python -r examples/requirements.txt
	@exec bin/flyte-binary demo --python .cache/demo-python --sample examples/fanout.py $(DEMO_FLAGS)

##@ Build

.PHONY: build build-demo build-slim console
build: build-demo build-slim ## Build both programs into bin/

console: console/dist/index.html ## Build the web console, which the programs embed

console/node_modules/.package-lock.json: console/package-lock.json
	@tools/toolchain.sh node
	npm ci --prefix console --no-fund --no-audit --loglevel=error
	@touch $@

console/dist/index.html: console/node_modules/.package-lock.json console/index.html console/vite.config.ts \
		$(shell find console/src console/public gen/ts -type f 2>/dev/null)
	@[ -f $@ ] || rm -f .cache/console-dist
	tools/if-changed.sh .cache/console-dist console gen/ts -- npm run --prefix console --silent build
	@touch $@

# The Postgres programs that the demo brings, for one platform such as linux_amd64.
demo/postgres/bundle/%/postgres.tar.gz: demo/postgres/requirements.txt tools/postgres.sh $(wildcard release/postgres/*)
	tools/postgres.sh $*

.PHONY: postgres
postgres:
	@tools/toolchain.sh go python
	@$(MAKE) --no-print-directory demo/postgres/bundle/$$(go env GOOS)_$$(go env GOARCH)/postgres.tar.gz
	@tools/postgres.sh --install

build-demo: console postgres ## Build bin/flyte-binary, the program with the demo mode
	@tools/toolchain.sh go
	@mkdir -p bin
	@[ -x bin/flyte-binary ] || echo "Building bin/flyte-binary (the first time takes some minutes: it carries a Kubernetes API server) ..."
	cd demo && go build -ldflags '$(DEMO_LDFLAGS)' -o ../bin/flyte-binary ./cmd/flyte-binary

build-slim: console ## Build bin/flyte-binary-slim, the program for clusters, without the demo mode
	@tools/toolchain.sh go
	@mkdir -p bin
	go build -ldflags '$(LDFLAGS)' -o bin/flyte-binary-slim ./manager/cmd/flyte-binary
	@! grep -qaF 'text/template.(*state).evalField' bin/flyte-binary-slim || \
		{ echo "bin/flyte-binary-slim executes templates, and so keeps every exported method: docs/performance.md#memory-of-an-idle-server" >&2; exit 1; }

.PHONY: image
IMAGE_ARCHES ?= amd64 arm64

image: console ## Build the container image for two platforms into .cache/image; PUSH=registry.example/flyte-binary:1.0 pushes it
	@tools/toolchain.sh go
	for arch in $(IMAGE_ARCHES); do \
		GOOS=linux GOARCH=$$arch go build -ldflags '$(LDFLAGS)' -o .cache/image-programs/$$arch/flyte-binary ./manager/cmd/flyte-binary && \
		go run ./release -slim -version '$(VERSION)' -epoch "$$(git log -1 --format=%ct)" -platform linux/$$arch \
			-program .cache/image-programs/$$arch/flyte-binary -sbom .cache/image-programs/$$arch/sbom.cdx.json || exit 1; done
	cd release/image && go run . -version '$(VERSION)' -revision "$$(git rev-parse HEAD)" -epoch "$$(git log -1 --format=%ct)" \
		$(foreach arch,$(IMAGE_ARCHES),-program linux/$(arch)=$(CURDIR)/.cache/image-programs/$(arch)/flyte-binary \
			-sbom linux/$(arch)=$(CURDIR)/.cache/image-programs/$(arch)/sbom.cdx.json) \
		-layout $(CURDIR)/.cache/image $(if $(PUSH),-push '$(PUSH)') $(IMAGE_FLAGS)

.PHONY: docs
docs: ## Build the site of docs/ into .cache/site; a broken link fails
	@tools/toolchain.sh python
	@tools/python-env.sh .cache/docs-python -r tools/docs/requirements.txt
	NO_MKDOCS_2_WARNING=1 .cache/docs-python/bin/mkdocs build --strict --quiet
	@echo "Open .cache/site/index.html"

##@ Test

.PHONY: test
test: setup build cluster-tools s3-server promtool otelcol moto envoy e2e-python helm ## Run all tests
	tools/suites.py --last go e2e go browser console

.PHONY: check-all
check-all: setup build cluster-tools s3-server promtool otelcol moto envoy e2e-python helm ## Run the linters, verify and all tests in parallel
	tools/suites.py --rerun-failed --last go e2e go browser lint console verify

.PHONY: check
check: $(BIN)/golangci-lint postgres ## Build, vet, lint and test one package, and build its importers: PKG=./runs/store
	@[ -n "$(PKG)" ] || { echo "Name a package: make check PKG=./runs/store" >&2; exit 2; }
	tools/check.sh $(PKG)

.PHONY: test-go
test-go: $(BIN)/gotestsum build-demo cluster-tools s3-server promtool otelcol moto envoy helm ## Run only the Go tests; PKG=./runs/... selects packages
	$(BIN)/gotestsum --format pkgname-and-test-fails -- -p 2 $(or $(PKG),./...)
	$(if $(PKG),,cd demo && ../$(BIN)/gotestsum --format pkgname-and-test-fails -- -p 2 ./...)
	$(if $(PKG),,cd release/image && ../../$(BIN)/gotestsum --format pkgname-and-test-fails ./...)

.PHONY: test-race
test-race: build-demo cluster-tools s3-server moto envoy helm ## Run the Go tests with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -p 2 $(or $(PKG),./...)
	$(if $(PKG),,cd demo && CGO_ENABLED=1 go test -race -p 2 ./...)

.PHONY: e2e
e2e: setup build cluster-tools s3-server e2e-python ## Run the end-to-end tests through the released SDK; ARGS='-k name' selects tests
	.cache/e2e-python/bin/python -m pytest tests/e2e $(ARGS)

.PHONY: clusters
clusters: build-demo cluster-tools ## Run tasks on real Ray and Dask as clusters of processes; installs 1.6 GB; ARGS='-k name' selects tests
	@tools/python-env.sh .cache/clusters-python -r tests/e2e/requirements.txt -r tests/e2e/requirements-clusters.txt
	.cache/clusters-python/bin/python -m pytest tests/e2e/test_members.py tests/e2e/test_clusters.py $(ARGS)

.PHONY: clusters-torch
clusters-torch: operators-python build-demo cluster-tools ## Run tasks on real PyTorch as clusters of processes; installs 6.5 GB; ARGS='-k name' selects tests
	.cache/operators-python/bin/python -m pytest tests/e2e/test_torch.py $(ARGS)

.PHONY: console-test
console-test: console/node_modules/.package-lock.json ## Run the console's unit tests
	npm run --prefix console --silent test

.PHONY: console-e2e
console-e2e: build-demo cluster-tools e2e-python ## Run the console's tests in a browser against a demo; ARGS='-g words' selects tests
	@tools/system-packages.sh browser
	npm run --prefix console --silent e2e -- $(ARGS)

.PHONY: console-firefox
console-firefox: build-demo cluster-tools e2e-python ## Run the main paths of the console in Firefox against a demo; ARGS='-g words' selects tests
	@tools/system-packages.sh firefox
	cd console && npx --no-install playwright test -c playwright.firefox.config.ts $(ARGS)

.PHONY: console-screenshots
console-screenshots: build-demo cluster-tools e2e-python ## Save screenshots of every screen of the console to console/screenshots/
	@tools/system-packages.sh browser
	cd console && npx --no-install playwright test -c playwright.pictures.config.ts $(ARGS)

.PHONY: console-bench
console-bench: build-demo cluster-tools e2e-python ## Measure the console: a run of 100,000 actions (CONSOLE_BENCH_URL=address uses an existing one), and the way between pages (ARGS=bench-pages)
	@tools/system-packages.sh browser
	cd console && npx --no-install playwright test -c playwright.bench.config.ts $(ARGS)

.PHONY: bench
bench: build-demo cluster-tools e2e-python ## Run the benchmarks and print tables
	go run ./tests/bench $(ARGS)

.PHONY: soak
soak: build-demo cluster-tools ## Run load for ten minutes and show that nothing grows; ARGS='-soakfor 0 -soak 200000' for more
	go run ./tests/bench -cases soak -soakfor 10m -timeout 3h $(ARGS)

.PHONY: fuzz
fuzz: postgres ## Send random requests to every rpc for ten minutes; FOR=1h SEED=7 change that
	FLYTE_FUZZ_FOR=$(or $(FOR),10m) FLYTE_FUZZ_SEED=$(or $(SEED),1) go test ./manager -run TestNoRequestBreaksTheServer -count 1 -v -timeout 0

.PHONY: upgrade-test
upgrade-test: cluster-tools ## Upgrade three replicas under load from another commit; OLD=commit ACTIONS=5000 (docs/high-availability.md)
	tools/upgrade-test.sh '$(or $(OLD),HEAD^)' '$(or $(ACTIONS),1000)'

.PHONY: versions-test
versions-test: cluster-tools ## Run an API with controllers that are built one and two minor versions apart
	tools/versions-test.sh

.PHONY: warm-storm
warm-storm: build-demo e2e-python ## Start 500 warm processes that end in all ways, and 500 tasks of a run; kill their parents and the server meanwhile
	cd demo && FLYTE_WARM_STORM=500 go test -count=1 -v -run TestStorm ./node/warm
	FLYTE_WARM_STORM=500 .cache/e2e-python/bin/python -m pytest tests/e2e/test_faults.py -k storm_of_warm -q

.PHONY: differential
differential: build-demo cluster-tools ## Run the same programs cold, warm and pooled, with all lists of learned packages, and compare them
	@tools/python-env.sh .cache/differential-python -r tests/e2e/requirements.txt -r tests/e2e/requirements-differential.txt
	go test -count=1 -run TestScikitLearn ./inpod/worker
	FLYTE_DIFFERENTIAL=1 .cache/differential-python/bin/python -m pytest tests/e2e/test_differential.py -s $(ARGS)

.PHONY: connectors-crashes
connectors-crashes: postgres ## Kill a process at each step of a connector's job, and check that there is one job
	go test -count=1 -tags failpoints,grpcnotrace,disable_grpc_modules -run TestACrash ./connectors

.PHONY: clusters-crashes
clusters-crashes: postgres ## Kill an API while it takes attempts back from a lost cluster, and check that each is lost once
	go test -count=1 -tags failpoints,grpcnotrace,disable_grpc_modules -run TestACrashWhile ./runs

.PHONY: audit-crashes
audit-crashes: postgres ## Kill a server at each step of each change, and check that none lacks its audit record
	go test -count=1 -v -timeout 120m -tags failpoints,grpcnotrace,disable_grpc_modules -run TestACrashLeaves ./manager | grep -v -e '^=== '

.PHONY: stored-crashes
stored-crashes: postgres s3-server ## Kill servers while they measure a bucket, and check that the next one ends the measurement with the right number
	go test -count=1 -v -timeout 20m -tags failpoints,grpcnotrace,disable_grpc_modules -run TestAMeasurementSurvives ./manager | grep -v -e '^=== '

.PHONY: connectors-storms
connectors-storms: postgres ## Have connectors hang, go away, forget jobs and lose answers, and check that there is one job for each attempt; STORMS=20
	CONNECTORS_STORMS=$(or $(STORMS),20) go test -count=1 -timeout 30m -run TestStorms ./connectors

.PHONY: connectors-plugins
connectors-plugins: build-demo cluster-tools ## Run the SDK's plugins for BigQuery, Snowflake and Databricks against doubles of the clouds; installs 1.2 GB
	@tools/python-env.sh .cache/connectors-python -r tests/e2e/requirements-connectors.txt
	.cache/connectors-python/bin/python -m pytest tests/e2e/test_connector_plugins.py $(ARGS)

.PHONY: faults
faults: build-demo cluster-tools ## Inject faults under load and check docs/promises.md; ARGS='-seeds 200 -first 1 -minutes 60'
	go run ./tests/faults $(ARGS)

##@ Release

# What make release builds for; PLATFORMS="linux/amd64" builds for one.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

.PHONY: release
release: console ## Build archives and wheels for all platforms into dist/ (docs/releases.md)
	@tools/toolchain.sh go python
	VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' DEMO_LDFLAGS='$(DEMO_LDFLAGS)' release/build.sh $(PLATFORMS)

.PHONY: release-reproducible
release-reproducible: ## Check that a second build of this commit, elsewhere, gives the same bytes; PLATFORMS="linux/amd64" selects
	release/reproducible.sh $(PLATFORMS)

.PHONY: release-test
release-test: e2e-python ## Install the wheel of this platform from dist/, with pip and with uvx, and run a task with each
	FLYTE_RELEASE_DIST=$(CURDIR)/dist .cache/e2e-python/bin/python -m pytest tests/e2e/test_wheel.py $(ARGS)

##@ Check

.PHONY: lint
lint: $(BIN)/golangci-lint buf console/node_modules/.package-lock.json ## Run the linters
	$(BIN)/golangci-lint run --allow-parallel-runners ./...
	cd demo && ../$(BIN)/golangci-lint run --allow-parallel-runners --config ../.golangci.yml ./...
	cd release/image && ../../$(BIN)/golangci-lint run --allow-parallel-runners --config ../../.golangci.yml ./...
	tools/if-changed.sh check:console-types console gen/ts -- npm run --prefix console --silent check
	tools/if-changed.sh check:console-lint console gen/ts -- npm run --prefix console --silent lint
	tools/node_modules/.bin/buf lint

.PHONY: generate
generate: $(BIN)/protoc-gen-go buf ## Regenerate every generated file
	cd tools && go run ./protodeps ../proto/third_party
	rm -rf gen/flytebinary gen/flyteidl2 gen/ts
	tools/node_modules/.bin/buf generate
	tools/node_modules/.bin/buf generate --template buf.gen.ts.yaml
	go generate ./executor/api/... ./manager/...
	cp executor/api/v1/crds/*.yaml charts/flyte-binary/files/crds/

.PHONY: verify
verify: $(BIN)/protoc-gen-go buf ## Check that generated and module files are current, and that the wire contract is compatible with the published one
	tools/if-changed.sh check:generated '*.go' '*go.mod' '*go.sum' proto gen tools executor/api charts/flyte-binary/files/crds charts/flyte-binary/files/dashboards docs/configuration.md manager/command/configuration.schema.json 'buf*.yaml' \
		Makefile -- tools/verify-generated.sh
	go mod tidy -diff
	cd demo && go mod tidy -diff
	cd release/image && go mod tidy -diff
	$(BREAKING)

.PHONY: published
published: buf ## Update proto/published.binpb from the contract's package (docs/wire-compatibility.md says when)
	@tools/python-env.sh .cache/contract-python -r tools/published/requirements.txt
	.cache/contract-python/bin/python tools/published/image.py proto/published.binpb

##@ Tools

.PHONY: setup
setup: tools ## Install everything that tests require on a fresh machine
	@tools/toolchain.sh go node python
	@tools/system-packages.sh venv browser iptables
	@tools/system-packages.sh nginx || echo "The test of the chart behind nginx will be skipped."

.PHONY: tools
tools: $(BIN)/gotestsum $(BIN)/protoc-gen-go buf ## Install the pinned tools into .bin/ and tools/node_modules/

.PHONY: cluster-tools
cluster-tools: build-demo
	@[ -x $(BIN)/etcd ] && [ -x $(BIN)/kube-apiserver ] || rm -f $(BIN)/.cluster-tools
	@tools/if-changed.sh $(BIN)/.cluster-tools demo/go.mod demo/go.sum tools/kube -- tools/kube/build.sh
	@[ -d $(BIN)/crds ] || rm -f $(BIN)/.operators
	@tools/if-changed.sh $(BIN)/.operators tools/operators -- tools/operators/crds.sh

# A real kubelet, for what the demo's node and the tests' nodes cannot show: docs/testing.md.
.PHONY: node node-test node-down
node: cluster-tools s3-server helm e2e-python ## Start a Kubernetes node on this machine with the chart's trial on it (Linux, root)
	@tools/system-packages.sh node
	@tools/if-changed.sh $(BIN)/.node-tools tools/node -- tools/node/build.sh
	tools/node/up.sh
	tools/node/images.sh
	$(MAKE) image IMAGE_ARCHES="$$(go env GOARCH)" PUSH=10.233.0.1:5000/flyte-binary:trial
	tools/node/install.sh

node-test: ## Run the end-to-end tests of a real node against that of `make node`; ARGS='-k name' selects tests
	. tools/node/env.sh && FLYTE_NODE=1 .cache/e2e-python/bin/python -m pytest tests/e2e/test_node.py $(ARGS)

node-down: ## Stop the node and remove what it made
	tools/node/down.sh

.PHONY: s3-server
s3-server: $(BIN)/versitygw

$(BIN)/versitygw: tools/s3server/go.mod tools/s3server/go.sum
	cd tools/s3server && GOBIN=$(CURDIR)/$(BIN) go install -ldflags '-s -w' tool
	@touch $@

# With the versions of the demo's packages, so that what the demo has compiled is not compiled again.
.PHONY: helm
helm: $(BIN)/helm ## Build the pinned helm into .bin/

$(BIN)/helm: tools/helm/go.mod tools/helm/go.sum
	cd tools/helm && GOBIN=$(CURDIR)/$(BIN) go install -ldflags '-s -w' tool
	@touch $@

.PHONY: otelcol
otelcol: $(BIN)/otelcol

$(BIN)/otelcol: tools/otelcol/go.mod tools/otelcol/go.sum tools/otelcol/main.go
	cd tools/otelcol && go build -ldflags '-s -w' -o $(CURDIR)/$@ .

.PHONY: dex
dex: $(BIN)/dex ## Build Dex, the second identity provider of a test; it takes many packages, and without it the test is skipped

$(BIN)/dex: tools/dex/go.mod tools/dex/go.sum tools/dex/main.go
	cd tools/dex && CGO_ENABLED=0 go build -ldflags '-s -w' -o $(CURDIR)/$@ .

.PHONY: operators operators-python operators-test
operators: operators-python ## Build Kueue and the operators of Ray, JobSet, PyTorch and others into .bin/operators; the first time takes minutes
	@tools/toolchain.sh go
	tools/operators/build.sh

operators-python:
	@tools/python-env.sh .cache/operators-python -r tests/e2e/requirements.txt -r tests/e2e/requirements-operators.txt

operators-test: operators build-demo ## Run the plugins of operators with the operators themselves; ARGS='-k JobSet' selects tests
	.cache/operators-python/bin/python -m pytest tests/e2e/test_operators.py tests/e2e/test_kueue.py tests/e2e/test_shared_ray.py $(ARGS)

.PHONY: promtool
promtool:
	@mkdir -p $(BIN)
	@tools/promtool.sh $(BIN)

.PHONY: moto
moto:
	@tools/python-env.sh .cache/moto -r secret/aws/testdata/requirements.txt

# There is no Envoy for every platform.
.PHONY: envoy
envoy:
	@tools/python-env.sh .cache/envoy -r charts/testdata/requirements.txt || echo "The test of the chart behind Envoy will be skipped."

.PHONY: e2e-python
e2e-python:
	@tools/python-env.sh .cache/e2e-python -r tests/e2e/requirements.txt

.PHONY: buf
buf: tools/node_modules/.package-lock.json

tools/node_modules/.package-lock.json: tools/package-lock.json
	@tools/toolchain.sh node
	npm ci --prefix tools --no-fund --no-audit --loglevel=error
	@touch $@

# Each tool that shares no dependencies with the product has a module of its own, which pins it.
$(BIN)/gotestsum: tools/testsum/go.mod tools/testsum/go.sum
	cd tools/testsum && GOBIN=$(CURDIR)/$(BIN) go install -ldflags '-s -w' tool
	@touch $@

$(BIN)/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	cd tools/lint && GOBIN=$(CURDIR)/$(BIN) go install -ldflags '-s -w' tool
	@touch $@

$(BIN)/protoc-gen-go: tools/go.mod
	cd tools && GOBIN=$(CURDIR)/$(BIN) go install tool
	@touch $@

.PHONY: clean
clean: ## Remove build output; keep downloads
	rm -rf bin $(BIN) .cache/e2e-python .cache/differential-python .cache/connectors-python .cache/moto .cache/envoy .cache/demo-python console/test-results console/screenshots
	find console/dist -mindepth 1 ! -name .keep -delete
