.PHONY: test demo bench ci

test:
	go test ./...

demo:
	go run ./cmd/gatehouse demo

bench:
	go test -run '^$$' -bench . ./policy ./redact

ci:
	.ci/run
