.PHONY: test demo ci

test:
	go test ./...

demo:
	go run ./cmd/gatehouse demo

ci:
	.ci/run
