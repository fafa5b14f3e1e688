package facts

import "testing"

func TestNamesMetadata(t *testing.T) {
	for text, want := range map[string]bool{
		"http://169.254.169.254/x": true, "2852039166": true, "0xa9fea9fe": true, "0xA9.254.0251.254": true,
		"0251.0376.0251.0376": true, "169.16689662": true, "169.254.43518": true, "025177524776": true,
		"[::ffff:169.254.169.254]": true, "[::ffff:a9fe:a9fe]": true, "[::FFFF:A9FE:A9FE]": true,
		"169.254.169.253": false, "127.0.0.1": false, "v1.2.3": false, "99999999999999999999999": false, "": false, "09.1": false,
	} {
		if got := NamesMetadata(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
