package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Of calls with large inputs that are allowed at the same time, on two servers with the
// same ids, none is lost, refused or delivered twice, in whatever order they come.
func TestNoAllowedCallIsLost(t *testing.T) {
	const calls, size = 4, 1 << 18
	r := newInprocRig(t, func(o *Options) { o.MaxEventBytes = 1 << 20 })
	other := &fakeTools{}
	r.session.toolServers = append(r.session.toolServers, offeredServer{"else", sourceGatehouse, other})
	for round := range 2 {
		answers := make(chan string, 2*calls)
		var gates sync.WaitGroup
		var order sync.Mutex // the CLI writes one line at a time
		for i := range calls {
			for _, server := range []string{"desk", "else"} {
				gates.Go(func() { // ends with its message
					tool, use := "mcp__"+server+"__run", fmt.Sprintf("use-%s-%d-%d", server, round, i)
					input := fmt.Sprintf(`{"from":%q,"n":%d,"pad":%q}`, use, i, strings.Repeat("x", size))
					ask := askFor(tool, input)
					ask.Fields["tool_use_id"] = json.RawMessage(`"` + use + `"`)
					if said := <-r.begin(ask); !lets(said) {
						t.Errorf("%s: the gate said %.200s", use, said)
					}
					order.Lock()
					defer order.Unlock()
					r.sent(server, callMessage(i+2, "run", input, use), func(s string) { answers <- s })
				})
			}
		}
		gates.Wait()
		for range 2 * calls {
			if got := r.wait(answers); !strings.Contains(got, "done") {
				t.Errorf("answered %.300s", got)
			}
		}
	}
	for name, tools := range map[string]*fakeTools{"desk": r.tools, "else": other} {
		if got := tools.delivered(); len(got) != 2*calls {
			t.Errorf("%s got %d calls, want %d", name, len(got), 2*calls)
		}
	}
}
