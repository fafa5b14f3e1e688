.PHONY: test demo bench ci

test:
	go test ./...

demo:
	go run ./cmd/gatehouse demo

bench:
	go test -run '^$$' -bench . -benchtime 3s ./cmd/gatehouse ./engine ./engine/audit ./engine/cli ./engine/event ./engine/inproc ./engine/journal ./guard ./plugins ./policy ./redact ./upstream

ci:
	.ci/run
