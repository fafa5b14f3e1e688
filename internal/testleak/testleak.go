// Package testleak finds goroutines that tests leave behind. For tests only:
//
//	func TestMain(m *testing.M) { os.Exit(testleak.Run(m)) }
package testleak

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

const module = "gatehouse-mcp/gatehouse/"

// Run runs the tests and returns the exit code, 1 where goroutines with code of
// this module are left a while after them. Those whose stack holds one of the
// permanent texts live as long as the program.
func Run(m *testing.M, permanent ...string) int {
	code := m.Run()
	if left := Left(permanent...); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left after the tests:\n"+left)
		return 1
	}
	return code
}

// Left returns the stacks of such goroutines, after up to ten seconds for those
// that are about to end. The caller's own does not count.
func Left(permanent ...string) string {
	var left []string
	for range 200 {
		if left = stacks(permanent); len(left) == 0 {
			return ""
		}
		time.Sleep(50 * time.Millisecond)
	}
	return strings.Join(left, "\n\n")
}

func stacks(permanent []string) (left []string) {
	buf := make([]byte, 4<<20)
	all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
next:
	for _, stack := range all[1:] { // the first is the caller
		if !strings.Contains(stack, module) {
			continue
		}
		for _, text := range permanent {
			if strings.Contains(stack, text) {
				continue next
			}
		}
		left = append(left, stack)
	}
	return left
}
