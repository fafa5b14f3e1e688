package mpmserver

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEnding(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "bcd"},
		{"aéb", 2, "b"},
		{"", 0, ""},
		{"key [REDACTED:aws] end", 10, " end"},
		{"key [REDACTED:aws] end", 18, "[REDACTED:aws] end"},
		{"key [REDACTED:aws] end", 17, " end"},
		{"a [REDACTED:" + strings.Repeat("x", 400), 300, strings.Repeat("x", 300)},
	} {
		if got := ending(tt.text, tt.limit); got != tt.want {
			t.Errorf("%d bytes of %.40q: %q", tt.limit, tt.text, got)
		}
	}
}

// A list stays readable whatever its sessions have said.
func TestAListIsBounded(t *testing.T) {
	long := strings.Repeat("é", 32<<10)
	for _, tt := range []struct{ sessions, most int }{{1, listedOutput}, {100, listedOutput}, {1000, listedOutputs / 1000}, {20_000, leastListed}} {
		t.Run(fmt.Sprint(tt.sessions), func(t *testing.T) {
			list := make([]sessionView, tt.sessions)
			for i := range list {
				list[i].LastOutput = &long
			}
			list[0].LastOutput = nil
			list = append(list, sessionView{LastOutput: &long})
			shorten(list)
			for _, v := range list[1:] {
				if s := *v.LastOutput; len(s) > tt.most || len(s) < leastListed-4 || !strings.HasPrefix(s, "…é") || !utf8.ValidString(s) {
					t.Fatalf("%d bytes: %.20q", len(s), s)
				}
			}
			if list[0].LastOutput != nil {
				t.Error("nothing became something")
			}
		})
	}
	if len(long) != 64<<10 {
		t.Error("what is listed elsewhere was cut")
	}
}
