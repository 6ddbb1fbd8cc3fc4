export GOTOOLCHAIN := go1.27.3

CHAOS_SECONDS ?= 300
MUTANTS ?= 200
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# What a real Kafka broker needs and this machine lacks; kafkatest.Missing says the same to the tests.
kafka_lacks = $(shell for p in bash flock $${JAVA_HOME:+$$JAVA_HOME/bin/}java mvn; do command -v $$p >/dev/null || echo $$p; done)
kafka_notice = $(if $(kafka_lacks),@echo "NOTE: tests against a real Kafka broker are SKIPPED: $(kafka_lacks) not found (Java 17+ and Maven)." >&2)

.PHONY: help demo test check mutate chaos bench
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1@/p' $(MAKEFILE_LIST) | column -t -s @

demo: ## run the demonstration: an embedded broker, sample data and a topology (ARGS=... passes arguments on)
	@go run ./cmd/streamrun dev $(ARGS)

test: ## run all tests under the race detector; those against a real Kafka need Java and Maven
	$(kafka_notice)
	go test -race -timeout 25m ./...
	@# The detector changes what is allocated: tests of that have files which say !race, and run here without it. So does
	@# TestModel of streamtest, which then plays 20,000 cases.
	@norace=$$(grep -rl --include='*_test.go' '^//go:build !race' . | xargs -r -n1 dirname | sort -u) && \
	  if [ -n "$$norace" ]; then go test -timeout 5m -run 'Alloc|^TestModel$$' $$norace; fi
	$(kafka_notice)

check: ## format, build, vet, staticcheck, and the project's own rules of style and layering
	@unformatted=$$("$$(go env GOROOT)/bin/gofmt" -l .) && \
	  if [ -n "$$unformatted" ]; then echo "not formatted (run go fmt ./...):"; echo "$$unformatted"; exit 1; fi
	go build ./...
	go vet ./...
	go run $(STATICCHECK) ./...
	go test -count=1 ./internal/tidy

mutate: ## make MUTANTS (200) small mistakes in windows, watermarks and operators, and see which the tests find
	@go run ./internal/mutate -n $(MUTANTS) $(ARGS)

chaos: ## kill, pause and rescale a running application for CHAOS_SECONDS (300) and verify every result
	@go run ./internal/chaos -seconds $(CHAOS_SECONDS)

bench: ## run the benchmarks; standard output is JSON lines only
	@go run ./benchmarks
