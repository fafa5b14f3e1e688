package policy

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestProjectSizes: what the compiler would take for ever over is refused before
// it is compiled, and what is large in width only is not.
func TestProjectSizes(t *testing.T) {
	say := `decisions contains {"effect": "deny", "rule": "r.x", "reason": "r"} if `
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, strings.ReplaceAll(format, "%next", fmt.Sprint(i+1)), i)
		}
		return b.String()
	}
	const tooLarge = "parts"
	for _, row := range []struct{ name, text, want string }{
		{"two chains that double, compared", say + "x59 == y59\n" + doubling("x", "input.cwd", 60) + doubling("y", "input.cwd", 60), "chain of more than 8"},
		{"wide steps within the chain", say + "a4 == b4\n" + tenfold("a") + tenfold("b"), tooLarge},
		{"variables that double", say + "{\nv0 := [input.cwd]\n" + lines(36, "v%next := [v%[1]d, v%[1]d]\n") + "v36 == 1\n}", tooLarge},
		{"variables that double, backwards", say + "{\nv0 == 1\n" + lines(20, "v%d := [v%next, v%next]\n") + "v20 := [input.cwd]\n}", tooLarge},
		{"calls that triple", say + "f(f(f(f(f(f(f(f(1)))))))) == 1\nf(x) := [x, x, x]", tooLarge},
		{"comprehensions", say + "{\na := [[x, x, x, x, x, x, x, x] | some x in input.bash.commands]\nb := [[x, x, x, x, x, x, x, x] | some x in a]\ncount(b) == 1\n}", tooLarge},
		{"whole documents", say + "a == 1\na := [" + strings.Repeat("input, ", 20) + "input]", tooLarge},
		{"taken apart by =", say + "{\n[a, b] := [[1], [2]]\nc = [a, b]\nd = [c, c]\n}", "with :="},
		{"a result as an operand", say + "f(1, y)\nf(x) := x", "x := f(y)"},
		{"a rule that rests on itself", say + "a\na if b\nb if a", "rests on itself"},
		{"a chain of 9", say + "a0\n" + lines(8, "a%d if a%next\n") + "a8 := true", "chain of more than 8"},
		{"201 rules", say + "a\n" + lines(200, "a if input.title == \"%d\"\n"), "200 rules"},
		{"41 expressions", say + "{\n" + lines(41, "input.title != \"%d\"\n") + "}", "41 expressions"},
		{"expressions within", say + "{\nx := [1 |\n" + lines(40, "input.title != \"%d\"\n") + "]\nx == []\n}", "42 expressions"},
		{"2001 expressions", say + "a\n" + strings.Repeat("a if {\n"+lines(39, "input.title != \"%d\"\n")+"}\n", 52), "2000 expressions"},
		{"rules of another package", say + "data.gatehouse.permission.x\nx := 1", "directly"},
		{"imports of rules", "import data.gatehouse.permission as p\n" + say + "p.x\nx := 1", "directly"},
		{"a list of 4000 names", say + "input.title in hosts\nhosts := {" + lines(4000, "\"host%d\", ") + "\"x\"}", ""},
		{"layers of rules", say + "a0_0\n" + layered(7, 25, 8), ""},
		{"helpers", say + "{\nsome p in input.paths\nodd(p)\nlower(p.abs) in names\n}\nodd(p) if not p.inside\nnames := {\"a\", \"b\"}", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := compileProject(context.Background(), []projectPart{{"/x", []source{{"p.rego", head + row.text}}}})
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "p.rego:")):
				t.Errorf("got %v, want an error that names %q and the file", err, row.want)
			}
		})
	}
}

// tenfold is a chain of five rules of which each holds the one before ten times.
func tenfold(name string) string {
	text := name + "0 := [input.cwd]\n"
	for i := range 4 {
		text += fmt.Sprintf("%s%d := [%s]\n", name, i+1, strings.Repeat(fmt.Sprintf("%s%d, ", name, i), 10))
	}
	return strings.ReplaceAll(text, ", ]", "]")
}

// layered is rules that rest on many of the next layer, by many ways.
func layered(layers, width, each int) string {
	var b strings.Builder
	for at := range layers {
		for i := range width {
			fmt.Fprintf(&b, "a%d_%d if {\n", at, i)
			for j := range each {
				if at == layers-1 {
					fmt.Fprintf(&b, "input.title != \"%d\"\n", j)
				} else {
					fmt.Fprintf(&b, "a%d_%d\n", at+1, (i+j)%width)
				}
			}
			b.WriteString("}\n")
		}
	}
	return b.String()
}

// TestProjectSizesOfAllFolders: the bounds are those of all folders together.
func TestProjectSizesOfAllFolders(t *testing.T) {
	many := head + strings.Repeat("a if input.title == \"x\"\n", 101)
	part := func(folder string) projectPart { return projectPart{folder, []source{{folder + "/p.rego", many}}} }
	if _, err := compileProject(context.Background(), []projectPart{part("/x")}); err != nil {
		t.Fatal(err)
	}
	_, err := compileProject(context.Background(), []projectPart{part("/x"), part("/x/y")})
	if err == nil || !strings.Contains(err.Error(), "200 rules") || !strings.Contains(err.Error(), "/x/y/p.rego:") {
		t.Errorf("got %v, want an error about the rules together", err)
	}
}
