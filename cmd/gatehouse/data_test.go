package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadData(t *testing.T) {
	for _, row := range []struct {
		name  string
		files map[string]string
		want  string // the document
		fail  string
	}{
		{"JSON and TOML together", map[string]string{"a.json": `{"a":1}`, "b.toml": "b = [true]"}, `{"a":1,"b":[true]}`, ""},
		{"a date of TOML", map[string]string{"a.toml": "when = 2026-01-02"}, `{"when":"2026-01-02T00:00:00Z"}`, ""},
		{"a long number as written", map[string]string{"a.json": `{"a":12345678901234567890}`}, `{"a":12345678901234567890}`, ""},
		{"one member in two files", map[string]string{"a.json": `{"x":1}`, "b.json": `{"x":2}`}, "", `a.json and `},
		{"one member twice", map[string]string{"a.json": `{"x":1,"x":2}`}, "", `"x" is set twice`},
		{"one member twice below", map[string]string{"a.json": `{"x":[{},{"y":{"z":1,"z":1}}]}`}, "", `"x[1].y.z" is set twice`},
		{"one member twice in TOML", map[string]string{"a.toml": "x = 1\nx = 2"}, "", "a.toml:2"},
		{"no file", map[string]string{}, "", "no such file"},
		{"no object", map[string]string{"a.json": `[]`}, "", "want a TOML table or a JSON object"},
		{"null", map[string]string{"a.json": `null`}, "", "want a TOML table or a JSON object"},
		{"two values", map[string]string{"a.json": `{} {}`}, "", "more than one value"},
	} {
		t.Run(row.name, func(t *testing.T) {
			folder := t.TempDir()
			var paths []string
			for _, name := range []string{"a.json", "a.toml", "b.json", "b.toml"} {
				if text, ok := row.files[name]; ok {
					paths = append(paths, filepath.Join(folder, name))
					if err := os.WriteFile(paths[len(paths)-1], []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if len(paths) == 0 {
				paths = []string{filepath.Join(folder, "none.json")}
			}
			data, err := readData(paths)
			got, _ := json.Marshal(data)
			switch {
			case row.fail == "" && (err != nil || string(got) != row.want):
				t.Errorf("got %s, %v, want %s", got, err, row.want)
			case row.fail != "" && (err == nil || !strings.Contains(err.Error(), row.fail)):
				t.Errorf("got %v, want an error with %s", err, row.fail)
			}
		})
	}
}

// TestOrganisationIsApart: its policies and data are a layer of their own, and
// none of the user's.
func TestOrganisationIsApart(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := &settings{
		profile:     "dev",
		policyPaths: []string{"/org/policies", "/user/policies"}, orgPaths: []string{"/org/policies"},
		policyData: []string{write("org.json", `{"hosts":["o"]}`), write("user.json", `{"hosts":["u"]}`)},
	}
	s.orgData = s.policyData[:1]
	o, err := s.policyOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal([]any{o.Org, o.OrgData, o.Paths, o.Data})
	if want := `[["/org/policies"],{"hosts":["o"]},["/user/policies"],{"hosts":["u"]}]`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
