package facts

import (
	"strings"
	"testing"
)

func TestDescribeURL(t *testing.T) {
	for _, row := range []struct{ text, scheme, host, port, kind string }{
		{"", "", "", "", "none"},
		{"https://example.com/x", "https", "example.com", "", "name"},
		{"HTTPS://EXAMPLE.com.:443/x", "https", "example.com", "", "name"},
		{"http://example.com:8080", "http", "example.com", "8080", "name"},
		{"http://example.com:080", "http", "example.com", "", "name"},
		{"http://example.com:99999", "http", "", "", "none"},
		{"http://example.com:x", "http", "", "", "none"},
		{"example.com/x", "", "example.com", "", "name"},
		{"localhost:8080/x", "", "localhost", "8080", "loopback"},
		{"/etc/passwd", "", "", "", "none"},
		{"//example.com/x", "", "example.com", "", "name"},
		{"file:///etc/passwd", "file", "", "", "none"},
		{"file:/etc/passwd", "file", "", "", "none"},
		{"file://localhost/etc/passwd", "file", "localhost", "", "loopback"},
		{"javascript:alert(1)", "javascript", "", "", "none"},
		{"data:text/plain,x", "data", "", "", "none"},
		{"http:", "http", "", "", "none"},
		{"http://", "http", "", "", "none"},
		{"ssh://git@host.example.com:22/x", "ssh", "host.example.com", "22", "name"},

		// a browser's reading
		{" \t https://example.com ", "https", "example.com", "", "name"},
		{"ht\ntps://exa\tmple.com", "https", "example.com", "", "name"},
		{"https:example.com", "https", "example.com", "", "name"},
		{"https:/example.com", "https", "example.com", "", "name"},
		{"https:////example.com", "https", "example.com", "", "name"},
		{`https:\\example.com\x`, "https", "example.com", "", "name"},
		{"https://good.example@evil.example/", "https", "evil.example", "", "name"},
		{"https://user:pass@evil.example:81/", "https", "evil.example", "81", "name"},
		{"https://a@b@evil.example/", "https", "evil.example", "", "name"},
		{`https://evil.example\@good.example/`, "https", "evil.example", "", "name"},
		{`https://example.com\@127.0.0.1/`, "https", "example.com", "", "loopback"}, // other parsers reach 127.0.0.1
		{"https://example.com#@127.0.0.1/", "https", "example.com", "", "name"},
		{"https://example.com?@127.0.0.1/", "https", "example.com", "", "name"},
		{"https://exa%6Dple.com/", "https", "example.com", "", "name"},
		{"https://example.com%2f@x/", "https", "x", "", "private"},
		{"https://exa mple.com/", "https", "", "", "none"},
		{"https://a<b/", "https", "", "", "none"},
		{"https://%zz/", "https", "", "", "none"},

		// letters
		{"https://m\u00fcnchen.example/", "https", "xn--mnchen-3ya.example", "", "name"},
		{"https://\u0440\u0430\u0443pal.com/", "https", "xn--pal-5cd3fta.com", "", "name"},
		{"https://\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54/", "https", "localhost", "", "loopback"},
		{"https://example\u3002com/", "https", "example.com", "", "name"},
		{"https://loc\u00adalhost/", "https", "localhost", "", "loopback"},
		{"https://\u24db\u24de\u24d2alhost/", "https", "localhost", "", "loopback"},
		{"http://\uff11\uff12\uff17.0.0.1/", "http", "127.0.0.1", "", "loopback"},
		{"http://\u2460\u2461\u2466.0.0.1/", "http", "127.0.0.1", "", "loopback"},
		{"http://\U0001D7CF\U0001D7D0\U0001D7D5.0.0.1/", "http", "127.0.0.1", "", "loopback"},
		{"https://xn--mnchen-3ya.example/", "https", "xn--mnchen-3ya.example", "", "name"},

		// names
		{"http://localhost", "http", "localhost", "", "loopback"},
		{"http://LOCALHOST./", "http", "localhost", "", "loopback"},
		{"http://a.b.localhost/", "http", "a.b.localhost", "", "loopback"},
		{"http://notlocalhost.example/", "http", "notlocalhost.example", "", "name"},
		{"http://metadata.google.internal/", "http", "metadata.google.internal", "", "metadata"},
		{"http://metadata/", "http", "metadata", "", "metadata"},
		{"http://vault.corp.internal/", "http", "vault.corp.internal", "", "private"},
		{"http://printer.local/", "http", "printer.local", "", "private"},
		{"http://intranet/", "http", "intranet", "", "private"},
		{"http://internal.example.com/", "http", "internal.example.com", "", "name"},
		{"http://127.0.0.1.nip.io/", "http", "127.0.0.1.nip.io", "", "loopback"},
		{"http://app-169-254-169-254.sslip.io/", "http", "app-169-254-169-254.sslip.io", "", "metadata"},
		{"http://7f000001.nip.io/", "http", "7f000001.nip.io", "", "loopback"},
		{"http://a.localtest.me/", "http", "a.localtest.me", "", "loopback"},

		// addresses
		{"http://8.8.8.8/", "http", "8.8.8.8", "", "public"},
		{"http://127.1/", "http", "127.0.0.1", "", "loopback"},
		{"http://2130706433/", "http", "127.0.0.1", "", "loopback"},
		{"http://0x7f.1/", "http", "127.0.0.1", "", "loopback"},
		{"http://0x7F000001/", "http", "127.0.0.1", "", "loopback"},
		{"http://0177.0.0.1/", "http", "127.0.0.1", "", "loopback"},
		{"http://017700000001/", "http", "127.0.0.1", "", "loopback"},
		{"http://127.0.0.1./", "http", "127.0.0.1", "", "loopback"},
		{"http://127.255.255.254/", "http", "127.255.255.254", "", "loopback"},
		{"http://0/", "http", "0.0.0.0", "", "unspecified"},
		{"http://0x/", "http", "0.0.0.0", "", "unspecified"},
		{"http://0.1.2.3/", "http", "0.1.2.3", "", "unspecified"},
		{"http://256.0.0.1/", "http", "", "", "none"},
		{"http://1.2.3.4.5/", "http", "", "", "none"},
		{"http://09.1.1.1/", "http", "", "", "none"},
		{"http://4294967296/", "http", "", "", "none"},
		{"http://example.1/", "http", "", "", "none"},
		{"http://10.1.2.3/", "http", "10.1.2.3", "", "private"},
		{"http://172.16.0.1/", "http", "172.16.0.1", "", "private"},
		{"http://172.32.0.1/", "http", "172.32.0.1", "", "public"},
		{"http://192.168.1.1/", "http", "192.168.1.1", "", "private"},
		{"http://100.64.0.1/", "http", "100.64.0.1", "", "private"},
		{"http://198.18.0.1/", "http", "198.18.0.1", "", "private"},
		{"http://240.0.0.1/", "http", "240.0.0.1", "", "private"},
		{"http://255.255.255.255/", "http", "255.255.255.255", "", "multicast"},
		{"http://224.0.0.251/", "http", "224.0.0.251", "", "multicast"},
		{"http://169.254.1.1/", "http", "169.254.1.1", "", "link_local"},
		{"http://169.254.169.254/latest", "http", "169.254.169.254", "", "metadata"},
		{"http://2852039166/", "http", "169.254.169.254", "", "metadata"},
		{"http://0xa9fea9fe/", "http", "169.254.169.254", "", "metadata"},
		{"http://0251.0376.0251.0376/", "http", "169.254.169.254", "", "metadata"},
		{"http://169.254.43518/", "http", "169.254.169.254", "", "metadata"},
		{"http://169.254.170.2/", "http", "169.254.170.2", "", "metadata"},
		{"http://100.100.100.200/", "http", "100.100.100.200", "", "metadata"},
		{"http://[::1]:8080/", "http", "::1", "8080", "loopback"},
		{"http://[0:0:0:0:0:0:0:1]/", "http", "::1", "", "loopback"},
		{"http://[::]/", "http", "::", "", "unspecified"},
		{"http://[::ffff:127.0.0.1]/", "http", "127.0.0.1", "", "loopback"},
		{"http://[::ffff:a9fe:a9fe]/", "http", "169.254.169.254", "", "metadata"},
		{"http://[::7f00:1]/", "http", "::7f00:1", "", "loopback"},
		{"http://[64:ff9b::a9fe:a9fe]/", "http", "64:ff9b::a9fe:a9fe", "", "metadata"},
		{"http://[2002:7f00:1::]/", "http", "2002:7f00:1::", "", "loopback"},
		{"http://[fd00:ec2::254]/", "http", "fd00:ec2::254", "", "metadata"},
		{"http://[fd12:3456::1]/", "http", "fd12:3456::1", "", "private"},
		{"http://[fe80::1%25eth0]/", "http", "fe80::1", "", "link_local"},
		{"http://[ff02::1]/", "http", "ff02::1", "", "multicast"},
		{"http://[2606:4700::1111]/", "http", "2606:4700::1111", "", "public"},
		{"http://[::1/", "http", "", "", "none"},
		{"http://[zz]/", "http", "", "", "none"},
	} {
		want := URL{Scheme: row.scheme, Host: row.host, Port: row.port, IPKind: row.kind}
		if got := DescribeURL(row.text); got != want {
			t.Errorf("%q: %+v, want %+v", row.text, got, want)
		}
	}
	if got := DescribeURL("https://example.com/" + strings.Repeat("x", maxURL)); got.IPKind != "none" {
		t.Errorf("a URL beyond the limit: %+v", got)
	}
}

func TestDiff(t *testing.T) {
	r := Resolver{Cwd: "/w", Roots: []string{"/w"}, Home: "/h"}
	edit := func(before, after string) map[string]any {
		return map[string]any{"file_path": "a.go", "old_string": before, "new_string": after}
	}
	for _, row := range []struct {
		name, tool     string
		input          map[string]any
		file           string
		added, removed int
	}{
		{"write", "Write", map[string]any{"file_path": "a.go", "content": "one\ntwo\n"}, "/w/a.go", 2, 0},
		{"write without a last newline", "Write", map[string]any{"file_path": "~/a", "content": "one\ntwo"}, "/h/a", 2, 0},
		{"write nothing", "Write", map[string]any{"file_path": "../a", "content": ""}, "/a", 0, 0},
		{"edit one line of three", "Edit", edit("a\nb\nc", "a\nX\nc"), "/w/a.go", 1, 1},
		{"insert", "Edit", edit("a\nc", "a\nb\nc"), "/w/a.go", 1, 0},
		{"delete", "Edit", edit("a\nb\n", ""), "/w/a.go", 0, 2},
		{"repeat", "Edit", edit("a\na", "a\na\na"), "/w/a.go", 1, 0},
		{"no change", "Edit", edit("a", "a"), "/w/a.go", 0, 0},
		{"several", "MultiEdit", map[string]any{"file_path": "a.go", "edits": []any{edit("a", "b"), edit("", "x\ny"), 7}}, "/w/a.go", 3, 1},
		{"cell", "NotebookEdit", map[string]any{"notebook_path": "n.ipynb", "new_source": "a\nb"}, "/w/n.ipynb", 2, 0},
		{"cell deleted", "NotebookEdit", map[string]any{"notebook_path": "n.ipynb", "new_source": "a", "edit_mode": "delete"}, "/w/n.ipynb", 0, 0},
		{"no path", "Write", map[string]any{"content": "a"}, "", 1, 0},
		{"another account", "Write", map[string]any{"file_path": "~x/a", "content": "a"}, "", 1, 0},
		{"wrong types", "Edit", map[string]any{"file_path": 1, "old_string": 2}, "", 0, 0},
		{"reading", "Read", map[string]any{"file_path": "a"}, "", 0, 0},
	} {
		got := r.Diff(row.tool, row.input)
		file := strings.Join(got.Files, ",")
		if file != row.file || got.Added != row.added || got.Removed != row.removed {
			t.Errorf("%s: %+v, want %q +%d -%d", row.name, got, row.file, row.added, row.removed)
		}
	}
}
