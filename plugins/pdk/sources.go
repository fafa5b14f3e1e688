//go:build !wasip1

package pdk

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

//go:embed pdk.go host_wasip1.go get.go kv.go json.go edits.go tools.go strings.go unquote.go
//go:embed fake.go fake_host.go fake_get.go fake_edits.go fake_strict.go
//go:embed c as scaffold
var sources embed.FS

// Languages are those that [Scaffold] knows.
var Languages = []string{"go", "c", "as"}

// buildLines write NAME.wasm, in the folder of a scaffold.
var buildLines = map[string]string{
	"go": `GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags="-s -w" -o @NAME@.wasm .`,
	"c":  `clang --target=wasm32 -Oz -nostdlib -fno-builtin -Wl,--no-entry,--strip-all -o @NAME@.wasm main.c`,
	"as": `npm install && npm run build`,
}

const ascArguments = "assembly/index.ts --outFile @NAME@.wasm -Oz --runtime stub --use abort="

var folderName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// PluginName is what the configuration calls the plugin of a scaffold: dashes are
// no part of such names.
func PluginName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// Scaffold returns the files of a new plugin in one of the [Languages], by path
// with slashes: a hook, its test, documents to try it with, what it is written with
// and a README with the build line. Nothing in it has to be executable. name is
// the folder's and the file's: a lower-case letter, then up to 31 of a-z, 0-9, _ and -.
func Scaffold(lang, name string) (files map[string][]byte, err error) {
	if !folderName.MatchString(name) {
		return nil, fmt.Errorf("plugin name %q: want a lower-case letter, then up to 31 of a-z, 0-9, _ and -", name)
	}
	s := scaffold{lang: lang, name: name, files: make(map[string][]byte)}
	switch lang {
	case "go":
		err = s.goFiles()
	case "c":
		err = s.cFiles()
	case "as":
		err = s.asFiles()
	default:
		return nil, fmt.Errorf("language %q is unknown, want one of %s", lang, strings.Join(Languages, ", "))
	}
	if err == nil {
		err = s.common()
	}
	return s.files, err
}

type scaffold struct {
	lang, name string
	files      map[string][]byte
}

func (s *scaffold) goFiles() error {
	own, err := fs.Glob(sources, "*.go")
	if err != nil {
		return err
	}
	for _, file := range own {
		if err := s.copy("pdk/"+file, file); err != nil {
			return err
		}
	}
	return s.fill("go", "go.mod", "main.go", "main_test.go")
}

func (s *scaffold) cFiles() error {
	if err := s.copy("gatehouse_hook.h", "c/gatehouse_hook.h"); err != nil {
		return err
	}
	return s.fill("c", "main.c", "../test.sh")
}

func (s *scaffold) asFiles() error {
	if err := s.copy("assembly/gatehouse.ts", "as/gatehouse.ts"); err != nil {
		return err
	}
	if err := s.fill("as", "package.json", "../test.sh", "index.ts"); err != nil {
		return err
	}
	s.files["assembly/index.ts"] = s.files["index.ts"]
	delete(s.files, "index.ts")
	return nil
}

func (s *scaffold) common() error {
	for _, document := range []string{"deny.json", "configured.json", "pass.json"} {
		if err := s.copy("testdata/"+document, "scaffold/"+document); err != nil {
			return err
		}
	}
	return s.fill(s.lang, "README.md")
}

func (s *scaffold) copy(to, from string) (err error) {
	s.files[to], err = sources.ReadFile(from)
	return err
}

// fill writes templates with the names in their places.
func (s *scaffold) fill(folder string, templates ...string) error {
	toml, err := sources.ReadFile("scaffold/toml.tmpl")
	if err != nil {
		return err
	}
	names := strings.NewReplacer("@NAME@", s.name, "@PLUGIN@", PluginName(s.name))
	parts := strings.NewReplacer("@TOML@\n", string(toml), "@BUILD@", buildLines[s.lang], "@ASC@", ascArguments)
	for _, t := range templates {
		text, err := sources.ReadFile(path.Join("scaffold", folder, t) + ".tmpl")
		if err != nil {
			return err
		}
		s.files[path.Base(t)] = bytes.TrimLeft([]byte(names.Replace(parts.Replace(string(text)))), "\n")
	}
	return nil
}
