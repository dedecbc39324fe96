# The commands of this repository. `make help` lists them.
GO        ?= go
BIN       := $(CURDIR)/bin
DATA      ?= $(CURDIR)/.data
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION  := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
LDFLAGS   := -s -w -X main.version=$(VERSION) -X main.revision=$(REVISION)
PKG       ?= ./...
APISERVER := $(shell find cmd/hermes-apiserver -name '*.go' -o -name 'go.*')
export CGO_ENABLED ?= 0

.PHONY: help build generate manifests lint test test-race bench fuzz up down image clean hermes
.DEFAULT_GOAL := help

help: ## Show this list.
	@awk 'BEGIN{FS=":.*## "} /^[a-z-]+:.*## /{printf "  %-10s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

build: hermes $(BIN)/hermes-apiserver ## Build bin/hermes and bin/hermes-apiserver.

hermes:
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/hermes ./cmd/hermes

# The embedded control plane is a module of its own: its first build compiles much of Kubernetes and takes minutes.
$(BIN)/hermes-apiserver: $(APISERVER)
	cd cmd/hermes-apiserver && $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $@ .

# Only the tests use kubectl, so it is not part of build.
$(BIN)/kubectl: cmd/hermes-apiserver/go.mod
	cd cmd/hermes-apiserver && $(GO) build -trimpath -ldflags '-s -w' -o $@ k8s.io/kubernetes/cmd/kubectl

generate: ## Regenerate deepcopy code and generated docs.
	$(GO) tool controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(GO) run ./hack/gen/reasons

manifests: ## Regenerate the CRDs from the Go types.
	$(GO) tool controller-gen crd paths=./api/... output:crd:artifacts:config=config/crd/bases

$(BIN)/golangci-lint: hack/tools/go.mod
	cd hack/tools && $(GO) build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

lint: $(BIN)/golangci-lint ## Check style and import directions.
	$(BIN)/golangci-lint run --timeout 15m ./...

test: build $(BIN)/kubectl ## Run every test, with the race detector.
	CGO_ENABLED=1 $(GO) test -race -timeout 20m $(PKG)
	cd cmd/hermes-apiserver && $(GO) test -trimpath -timeout 15m ./...

bench: build ## Measure the figures of the design and print them against their targets.
	$(GO) run ./hack/bench

fuzz: ## Run every fuzz target for a while (FUZZTIME=30s).
	hack/fuzz.sh

up: build ## Start hermes here with the demo, send it a message, show the status.
	$(BIN)/hermes --data $(DATA) up --demo --detach --wait || [ $$? -eq 75 ] # 75: it runs already
	$(BIN)/hermes --data $(DATA) chat -p demo -q 'Hello! What are you?'
	$(BIN)/hermes --data $(DATA) status

down: ## Stop what `make up` started. Its data stays in .data.
	$(BIN)/hermes --data $(DATA) down

image: ## Build the container image (needs docker).
	docker build -t hermes:$(VERSION) .

clean: ## Remove what was built.
	rm -rf $(BIN)
