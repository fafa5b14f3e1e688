// Package realcli holds the tests that drive the whole of Gatehouse with the
// real Claude Code CLI against a scripted Messages API on loopback.
//
// They answer the question no fake can: does the CLI, as it is released, hold
// to the wiring the gate rests on. Hostile projects plant canaries, marker
// files that appear when something ran that nobody judged; each test asserts
// that none appeared and that every call of the model met the policies.
//
// The lane is switched on by the environment and skips without it:
//
//	npm install --prefix DIR @anthropic-ai/claude-code@2.1.197
//	GATEHOUSE_REAL_CLI=DIR/node_modules/.bin/claude go test ./engine/realcli
//
// GATEHOUSE_REQUIRE_REAL_CLI=1 turns the skip into a failure. Each CLI takes
// some 200 MiB; at most two run at a time. Start reading at lab in lab_test.go.
package realcli
