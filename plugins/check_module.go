package plugins

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/plugins/module"
)

// checkImports names everything a module imports that is not here, at once.
func checkImports(m module.Prepared) error {
	var missing []string
	versions := map[string]bool{}
	for _, i := range m.Imports {
		switch {
		case i.Module == ABI && hasABI(i.Name, i.Type), i.Module == wasi && hasWASI(i.Name, i.Type):
		case i.Module != ABI && strings.HasPrefix(i.Module, abiFamily):
			versions[i.Module] = true
		default:
			missing = append(missing, visible(clip(i.Module))+"."+visible(clip(i.Name))+clip(i.Type))
		}
	}
	var problems []error
	for _, version := range some(slices.Sorted(maps.Keys(versions))) {
		problems = append(problems, fmt.Errorf("imports %s, this server offers %s", visible(clip(version)), ABI))
	}
	if len(missing) > 0 {
		problems = append(problems, fmt.Errorf("imports %s, which this server does not offer (it offers %s and the functions of %s)",
			strings.Join(some(slices.Compact(missing)), ", "), offered(), wasi))
	}
	return errors.Join(problems...)
}

// maxListed is how many names of a module one error lists.
const maxListed = 20

// some are the first names of a list, and how many more there are.
func some(names []string) []string {
	if len(names) <= maxListed {
		return names
	}
	return append(slices.Clip(names[:maxListed]), fmt.Sprintf("and %d more", len(names)-maxListed))
}

// abiFamily begins the names of all versions of the ABI.
const abiFamily = "gatehouse.hook."

func hasABI(name, typ string) bool {
	f, ok := abiFunctions[name]
	return ok && typ == f.typeText()
}

func (f abiFunction) typeText() string {
	return "(" + strings.TrimSuffix(strings.Repeat("i32, ", f.params), ", ") + ") -> i32"
}

// offered lists the ABI with its types, for who got one wrong.
func offered() string {
	var all []string
	for name, f := range abiFunctions {
		all = append(all, ABI+"."+name+f.typeText())
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

const hookType = "() -> i32"

// checkExports gives the hooks that the plugin is called at: those it exports and is
// set to be called at.
func checkExports(c Config, m module.Prepared) ([]Hook, error) {
	var exported []Hook
	var problems []error
	memory := false
	for _, e := range m.Exports {
		hook := Hook(e.Name)
		switch {
		case e.Name == "memory" && e.Kind == "memory":
			memory = true
		case e.Name == "_initialize" && e.Type != "() -> ()":
			problems = append(problems, fmt.Errorf("exports %s%s, want () -> ()", e.Name, shape(e)))
		case !slices.Contains(Hooks, hook):
		case e.Kind != "func" || e.Type != hookType:
			problems = append(problems, fmt.Errorf("exports %s%s, want %s", e.Name, shape(e), hookType))
		default:
			exported = append(exported, hook)
		}
	}
	if !memory {
		problems = append(problems, errors.New("exports no memory: export it with the name memory"))
	}
	hooks, err := chosenHooks(c, exported)
	return hooks, errors.Join(append(problems, err, checkMinimum(c, m))...)
}

func chosenHooks(c Config, exported []Hook) ([]Hook, error) {
	has := func(h Hook) bool { return slices.Contains(exported, h) }
	var hooks, absent []Hook
	for _, h := range Hooks {
		switch wanted := c.Hooks == nil || slices.Contains(c.Hooks, h); {
		case wanted && has(h):
			hooks = append(hooks, h)
		case wanted && c.Hooks != nil:
			absent = append(absent, h)
		}
	}
	switch {
	case len(absent) > 0:
		return nil, fmt.Errorf("hooks names %s, which it does not export; it exports %s", list(absent), orNone(list(exported)))
	case len(hooks) == 0:
		return nil, fmt.Errorf("exports no hook: want at least one of %s, each %s", list(Hooks), hookType)
	case slices.Contains(hooks, ToolsList) != slices.Contains(hooks, ToolsCall):
		return nil, fmt.Errorf("exports only one of %s and %s", ToolsList, ToolsCall)
	}
	return hooks, nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// checkMinimum refuses what would not fit from the start.
func checkMinimum(c Config, m module.Prepared) error {
	if least := int64(m.Memory.Min) * page; least > c.Memory {
		return fmt.Errorf("needs %d KiB of memory to begin, memory allows %d KiB", least>>10, c.Memory>>10)
	}
	return nil
}

// shape writes an export that is not what it should be: "(i32) -> i64" or " as a global".
func shape(e module.Export) string {
	if e.Kind != "func" {
		return " as a " + visible(e.Kind)
	}
	return clip(e.Type)
}
