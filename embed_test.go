package gatehouse_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestEmbeddersLinkWhatTheyUse: a program that embeds the engine links no policy
// engine, no WebAssembly and no configuration unless it imports them itself.
func TestEmbeddersLinkWhatTheyUse(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./examples/embed").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	found := map[string]bool{}
	for _, path := range linked {
		for _, never := range []string{
			"github.com/open-policy-agent/", "github.com/tetratelabs/wazero", "github.com/BurntSushi/toml", "mvdan.cc/sh",
			module + "/policy", module + "/plugins", module + "/redact", module + "/upstream", module + "/cmd/",
		} {
			if strings.HasPrefix(path+"/", strings.TrimSuffix(never, "/")+"/") {
				t.Errorf("a program that embeds the engine links %s", path)
			}
		}
		found[path] = true
	}
	for _, path := range []string{module + "/engine", module + "/engine/inproc"} {
		if !found[path] {
			t.Errorf("examples/embed does not link %s: the list proves nothing", path)
		}
	}
}
