package unseen

import "testing"

func TestRune(t *testing.T) {
	for _, r := range "\x00\x1b\n\u00a0\u00ad\u034f\u115f\u180e\u200b\u200e\u202e\u2028\u2066\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ue000\U000e0041\U000e0101" {
		if !Rune(r) {
			t.Errorf("%U is not told", r)
		}
	}
	for _, r := range " aZ9~éßж中あ한€✓😀\u0301" {
		if Rune(r) {
			t.Errorf("%U is told", r)
		}
	}
}
