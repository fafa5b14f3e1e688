//go:build linux || darwin

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/filter"
)

// builtFilter builds the program and returns it under the filter's name, with
// the environment it needs.
func builtFilter(t testing.TB) (path string, env []string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "gatehouse")
	build := exec.Command("go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as released
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	path = filepath.Join(filepath.Dir(program), filter.Name)
	if err := os.Symlink(program, path); err != nil {
		t.Fatal(err)
	}
	const spec = `{"options":{}}`
	sum := sha256.Sum256([]byte(spec))
	return path, append(os.Environ(), filter.SpecVariable+"="+spec, filter.SumVariable+"="+hex.EncodeToString(sum[:]))
}

// The filter starts before the large packages of this program are initialised,
// which is most of what a start costs.
func TestFilterStartsEarly(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: building the whole program takes longer than all else here")
	}
	path, env := builtFilter(t)
	cmd := exec.Command(path, "true")
	cmd.Env = append(env, "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(trace), "init os ") {
		t.Fatalf("%v: %s", err, trace)
	}
	for _, late := range []string{"opa/v1/ast ", "opa/v1/topdown ", "gqlparser/v2/validator/rules ", "go-sdk/mcp ", "net/http "} {
		if strings.Contains(string(trace), late) {
			t.Errorf("%s is initialised before the filter", late)
		}
	}
}

// The figure is added-ms: what a command costs more, as the median of pairs that
// are run in turn.
func BenchmarkFilterStart(b *testing.B) {
	path, env := builtFilter(b)
	took := func(line string) time.Duration {
		cmd := exec.Command("bash", "-c", line)
		cmd.Env = env
		begun := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begun)
	}
	var added []time.Duration
	for b.Loop() {
		without := took("true")
		added = append(added, took(path+" true")-without)
	}
	slices.Sort(added)
	b.ReportMetric(float64(added[len(added)/2].Microseconds())/1000, "added-ms")
}

// BenchmarkFilterThroughput is a command that prints 256 MiB of clean text.
func BenchmarkFilterThroughput(b *testing.B) {
	path, env := builtFilter(b)
	const size = 256 << 20
	file := filepath.Join(b.TempDir(), "text")
	line := "2026-01-02T03:04:05Z INFO server: request /api/v1/items/4711 took 12.7 ms, status=200 bytes=5123\n"
	if err := os.WriteFile(file, []byte(strings.Repeat(line, size/len(line)+1)[:size]), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		cmd := exec.Command(path, "cat "+file)
		cmd.Env = env
		if err := cmd.Run(); err != nil { // its output is discarded
			b.Fatal(err)
		}
	}
}
