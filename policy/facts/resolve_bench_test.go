package facts

import (
	"path/filepath"
	"testing"
)

// BenchmarkResolve is one path of one call: nothing is remembered before.
func BenchmarkResolve(b *testing.B) {
	root := tree(b)
	top := filepath.Dir(root)
	places := NewPlaces(filepath.Join(top, "home"), []string{filepath.Join(top, "home", ".config", "gatehouse")})
	for _, row := range []struct{ name, raw string }{
		{"plain", "src/a.go"}, {"absolute", root + "/src/a.go"}, {"missing", "src/new.go"}, {"dotdot", "src/../src/a.go"},
		{"link", "in/a.go"}, {"outside", "out/c.txt"}, {"wide", "src/naïve.go"},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewResolver(places, root, []string{root}).Resolve(row.raw, Write)
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		r := NewResolver(places, root, []string{root})
		b.ReportAllocs()
		for b.Loop() {
			r.Resolve("src/a.go", Write)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	places := NewPlaces("/h/u", []string{"/h/u/.config/gatehouse"})
	b.ReportAllocs()
	for b.Loop() {
		places.judge("/h/u/code/project/src/package/main.go")
	}
}

func BenchmarkPattern(b *testing.B) {
	root := tree(b)
	places := NewPlaces("", nil)
	for _, word := range []string{"src/*.go", "**/*.go", "src/{a,b}.go"} {
		b.Run(word, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewResolver(places, root, []string{root}).Pattern(word, Read)
			}
		})
	}
}
