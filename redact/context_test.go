package redact

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func contextScanner(t testing.TB) Scanner {
	t.Helper()
	sc, err := New(Options{Context: true})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func TestContextCovers(t *testing.T) {
	sc := contextScanner(t)
	const value = "hunter2hunter2"
	long := "tR7wZ1nB4cF6hD0s" + "Gk3J9vQ2mX8pL5yU"
	tests := []struct{ before, value, after string }{
		{"password = \"", value, "\""},
		{"password: ", value, "\n"},
		{"DB_PASSWORD=", value, "\nDB_USER=me"},
		{"export API_KEY='", long, "'"},
		{"apiKey := \"", long, "\" // note"},
		{"\"client_secret\": \"", long, "\","},
		{"{'token' => '", long, "'}"},
		{"mysql --password ", value, " -h host"},
		{"mysql --password=", value, " -h host"},
		{"tool --api-key \"", long, "\""},
		{"<password>", value, "</password>"},
		{"<add password=\"", value, "\" user=\"x\"/>"},
		{"os.environ[\"SECRET_KEY\"] = \"", long, "\""},
		{"{\\\"password\\\":\\\"", value, "\\\"}"},
		{"{\\\\\\\"password\\\\\\\": \\\\\\\"", value, "\\\\\\\"}"},
		{"?auth=", long, "&x=1"},
		{"passphrase: '", "c0rrect!Horse", "'"},
		{"- name: x\n  secret: ", long, "\n"},
		{"access-key: ", "9f1c07e4b52d86a3" + "c4e0715b9d2f683a", "\n"},
	}
	for _, tt := range tests {
		in := tt.before + tt.value + tt.after
		want := tt.before + "[REDACTED:context]" + tt.after
		if got, _ := sc.String(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if got, _ := streamed(sc, bytesOf(in)...); got != want {
			t.Errorf("stream: %q became %q, want %q", in, got, want)
		}
		if got, _ := (Scanner{}).String(in); got != in {
			t.Errorf("without context %q became %q", in, got)
		}
		if twice, hits := sc.String(want); twice != want {
			t.Errorf("%q became %q, %v", want, twice, hits)
		}
	}
}

func TestContextLeaves(t *testing.T) {
	sc := contextScanner(t)
	sha := "3f786850e387550fdab836ed7e6dc881de23001b"
	for _, in := range []string{
		"password = os.getenv(\"DB_PASSWORD\")", "password = getPassword()", "password := cfg.Database.Password2", "token = \"\"",
		"password: ${DB_PASSWORD}", "password=$DB_PASSWORD1234", "password: <your password 1>", "password: \"changeme123\"",
		"token: null", "secret: true", "password: string;", "const secretName = \"my-app-secret-2\"", "token_url = \"https://x.example/t0k3n\"",
		"max_tokens: 4096", "token_count = 123456789012", "tokenizer = \"cl100k_base_v2\"", "author: j0hn.d0e1234", "secretary: a1b2c3d4e5f6g7h8",
		"token: " + sha, "auth = 0b4f8c1e-5a44-4c7d-9d3e-2f1f6f1f8f10", "secret sha256: " + sha, "password_hash_sha1 = \"" + sha + "\"",
		"password == \"aB3xQ9aB3xQ9\"", "the password is aB3xQ9aB3xQ9", "\"password\": \"Your password has 8 letters\"",
		"api_key = process.env.API_KEY1", "private_key: /etc/ssl/private1/key.pem", "secret: sha512-aB3xQ9aB3xQ9aB3xQ9==", "expires token: 2026-01-02T10:00:00Z",
		"token: data:image/png;base64,aB3xQ9", "secretKeyRef: name1-secret-abc", "public_key = \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\"",
		"auth: [REDACTED:context]", "password=\"[REDACTED:github]\"", "passwordPolicy: \"min8chars!Upper1\"", "if token := p.next1(); token != nil {",
		"password: xxxxxxxx1234", "pwd=/home/user1/project2", "PWD=/home/user1/project2",
	} {
		if got, hits := sc.String(in); got != in {
			t.Errorf("%q became %q, %v", in, got, hits)
		}
	}
}

func TestContextInJSON(t *testing.T) {
	sc := contextScanner(t)
	long := "tR7wZ1nB4cF6hD0s" + "Gk3J9vQ2mX8pL5yU"
	tests := []struct {
		in, want string
		found    []Finding
	}{
		{`{"password":"hunter2hunter2"}`, `{"password":"[REDACTED:context]"}`, []Finding{{"/password", "context", 1}}},
		{`{"a":{"dbPassword" : "hunter2hunter2"},"b":1}`, `{"a":{"dbPassword" : "[REDACTED:context]"},"b":1}`, []Finding{{"/a/dbPassword", "context", 1}}},
		{`{"p\u0061ssword":"hunter2hunter2"}`, `{"p\u0061ssword":"[REDACTED:context]"}`, []Finding{{"/password", "context", 1}}},
		{`{"tokens":["` + long + `"]}`, `{"tokens":["[REDACTED:context]"]}`, []Finding{{"/tokens/0", "context", 1}}},
		{`{"Authorization":"Token ` + long + `"}`, `{"Authorization":"Token [REDACTED:context]"}`, []Finding{{"/Authorization", "context", 1}}},
		{`{"cmd":"mysql --password hunter2hunter2"}`, `{"cmd":"mysql --password [REDACTED:context]"}`, []Finding{{"/cmd", "context", 1}}},
		{`{"token":"` + secrets[0].token + `"}`, `{"token":"[REDACTED:anthropic]"}`, []Finding{{"/token", "anthropic", 1}}},
		{`{"password":"","token_type":"bearer123x","max_tokens":12,"secret":null}`, `{"password":"","token_type":"bearer123x","max_tokens":12,"secret":null}`, nil},
		{`{"password":"[REDACTED:context]"}`, `{"password":"[REDACTED:context]"}`, nil},
	}
	for _, tt := range tests {
		got, found := sc.JSON(json.RawMessage(tt.in))
		if string(got) != tt.want || !reflect.DeepEqual(found, tt.found) {
			t.Errorf("%s became %s %v, want %s %v", tt.in, got, found, tt.want, tt.found)
		}
	}
}

func TestContextVendorNames(t *testing.T) {
	sc := contextScanner(t)
	for _, s := range secrets {
		if strings.Contains(s.token, "\n") {
			continue
		}
		got, hits := sc.String("token=\"" + s.token + "\"")
		if want := "token=\"[REDACTED:" + s.detector + "]\""; got != want || len(hits) != 1 {
			t.Errorf("%s: got %q with %v, want %q", s.name, got, hits, want)
		}
	}
}
