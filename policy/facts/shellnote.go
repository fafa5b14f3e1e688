package facts

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// note records constructs that are no commands.
func (w *walker) note(n syntax.Node) {
	f := &w.Features
	w.differingNode(n)
	switch n := n.(type) {
	case *syntax.ParamExp:
		f.Param = true
		w.expansion(n)
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
		f.Arith = true
		w.arithmetic(n)
	case *syntax.BinaryArithm:
		w.computes(n.X)
	case *syntax.UnaryArithm:
		w.computes(n.X)
	case *syntax.ExtGlob:
		f.Glob = true
		w.doubt("an extended pattern, in which some shells run code")
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		f.ControlFlow = true
	case *syntax.CStyleLoop:
		f.Arith = true
		w.arithmetic(n)
	case *syntax.TestClause:
		f.ControlFlow = true
		w.arithmetic(n)
	case *syntax.FuncDecl:
		f.Function = true
		w.doubt("defines a function")
	case *syntax.WordIter:
		f.Assign, f.AssignLater = true, true
		w.assigns(n.Items...)
		w.sets(n.Name.Value)
	case *syntax.CoprocClause:
		f.Background = true
		if n.Name != nil {
			w.sets(w.word(n.Name).Value)
		}
	case *syntax.DeclClause:
		w.declares(n)
	case *syntax.Assign:
		w.assign(n)
	}
}

func (w *walker) assign(n *syntax.Assign) {
	w.Features.Assign = true
	w.arithmetic(n)
	w.assigns(n.Value)
	if n.Name != nil {
		w.sets(n.Name.Value)
	}
}

// declares looks at declare and its relatives. A name reference, or an
// argument that is only known later, may set any variable.
func (w *walker) declares(n *syntax.DeclClause) {
	w.Features.Assign, w.Features.AssignLater = true, true
	w.arithmetic(n)
	for _, as := range n.Args {
		switch {
		case !as.Naked || as.Value == nil:
		case !w.word(as.Value).Static:
			w.doubt(n.Variant.Value + " of a name that is only known at run time")
			w.homeless = true
		case strings.HasPrefix(w.word(as.Value).Value, "-") && strings.Contains(w.word(as.Value).Value, "n") || n.Variant.Value == "nameref":
			w.doubt(n.Variant.Value + " of a name for another variable")
			w.homeless = true
		}
	}
}

// sets doubts setting a variable that steers what later commands do.
func (w *walker) sets(name string) {
	w.homeless = w.homeless || homeVariables(name)
	if steers(name) {
		w.steered = true
		w.doubt("sets " + name)
	}
}

// computes looks at an operand that arithmetic may assign to.
func (w *walker) computes(operand syntax.ArithmExpr) {
	if word, ok := operand.(*syntax.Word); ok {
		w.sets(word.Lit())
	}
}

// maxAssigned bounds the values remembered for one text.
const maxAssigned = 256

// assigns remembers what variables are set to.
func (w *walker) assigns(values ...*syntax.Word) {
	for _, v := range values {
		if v != nil && len(w.assigned) < maxAssigned {
			w.assigned = append(w.assigned, w.word(v))
		}
	}
}

// steering are variables that change what later commands do; those that begin
// with one of steeringFamilies do as well.
var (
	steering = setOf("PATH", "IFS", "ENV", "HOME", "SHELL", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "PAGER", "MANPAGER",
		"EDITOR", "VISUAL", "BROWSER", "CDPATH", "FPATH", "ZDOTDIR", "LESSOPEN", "LESSCLOSE", "LESS", "NULLCMD", "READNULLCMD", "GLOBIGNORE", "EXECIGNORE",
		"XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAKEFLAGS", "MAKEFILES", "GOFLAGS", "RUSTC_WRAPPER", "GCONV_PATH", "LOCPATH", "PWD", "OLDPWD")
	steeringFamilies = []string{"LD_", "DYLD_", "GIT_", "BASH_", "NODE_", "PYTHON", "PERL", "RUBY", "CLAUDE_", "ANTHROPIC_", "SSH_", "BUN_", "NPM_CONFIG_", "npm_config_", "CARGO_", "GATEHOUSE_"}
)

// harmless are exceptions from the families.
var harmless = setOf("NODE_ENV", "CARGO_TERM_COLOR", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS")

// steers reports variables that change what later commands do.
func steers(name string) bool {
	if steering[name] || harmless[name] {
		return steering[name]
	}
	for _, prefix := range steeringFamilies {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}
