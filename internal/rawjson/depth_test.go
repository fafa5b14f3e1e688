package rawjson

import (
	"strings"
	"testing"
)

func TestDeeper(t *testing.T) {
	for doc, want := range map[string]bool{
		``: false, `1`: false, `[[1]]`: false, `[[[1]]]`: true, `[{"a":{}}]`: true,
		`[[],[],[],[]]`: false, `["[[[[", "{{\"[["]`: false, `["\\",[[1]]]`: true, `[[[`: true,
		strings.Repeat("[]", 100): false,
	} {
		if got := Deeper([]byte(doc), 2); got != want {
			t.Errorf("Deeper(%.40s, 2) = %v, want %v", doc, got, want)
		}
	}
}
