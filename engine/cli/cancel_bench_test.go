//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// aTree is a CLI with a child in its group and one in a session of its own; it
// ends at the end of its input and leaves both.
const aTree = `sleep 600 & setsid sleep 600 & echo '{"up":true}'; while read -r line; do :; done`

// BenchmarkCancel stops many trees at once: the time of one op is that of all.
// GATEHOUSE_BENCH_TREES=N takes that many.
func BenchmarkCancel(b *testing.B) {
	need(b, "sh", "setsid", "sleep")
	counts := []int{100, 300, 1000}
	if n, err := strconv.Atoi(os.Getenv("GATEHOUSE_BENCH_TREES")); err == nil {
		counts = []int{n}
	}
	for _, n := range counts {
		b.Run(fmt.Sprintf("trees=%d", n), func(b *testing.B) {
			var spent time.Duration
			for range b.N {
				spent += cancel(b, n)
			}
			b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "ms/cancel")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func cancel(b *testing.B, n int) time.Duration {
	mark := fmt.Sprintf("bench-%d-%d", os.Getpid(), time.Now().UnixNano())
	trees := startTrees(b, n, mark)
	began := time.Now()
	var all sync.WaitGroup
	for _, p := range trees {
		all.Go(func() {
			if err := p.Stop(); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if left := withMark(mark); len(left) > 0 {
		b.Errorf("%d of %d processes are left", len(left), 3*n)
	}
	return took
}

func startTrees(b *testing.B, n int, mark string) []*cli.Process {
	sh, _ := exec.LookPath("sh")
	trees := make([]*cli.Process, n)
	var all sync.WaitGroup
	for i := range trees {
		all.Go(func() {
			p, err := cli.Start(cli.Command{Path: sh, Args: []string{"-c", aTree}, Env: os.Environ(), Marker: fmt.Sprintf("%s-%d", mark, i)})
			if err == nil {
				_, err = p.Read()
			}
			if err != nil {
				b.Error(err)
			}
			trees[i] = p
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return trees
}

// withMark lists who lives with a text in the environment.
func withMark(mark string) (left []int) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, _ := os.ReadFile("/proc/" + d.Name() + "/environ")
		if strings.Contains(string(env), mark) && alive(pid) {
			left = append(left, pid)
		}
	}
	return left
}
