package facts

// Limits of the shell analysis. The parser is recursive and a Go stack
// overflow cannot be recovered, so text beyond them is not parsed at all.
const (
	MaxShellBytes    = 16 << 10 // longest text that is parsed
	maxNestedBytes   = 48 << 10 // of a text and the shell texts within it together
	maxShellOpeners  = 512      // brackets, braces, backquotes and compound keywords in one text
	maxShellCommands = 20       // more than these are nobody's everyday command
	maxShellWords    = 1000     // of all commands together, those behind wrappers counted again
	maxShellDepth    = 4        // shells within shells
	maxCommandsKept  = 64       // commands reported; beyond maxShellCommands a text is not OK anyway
)

// Word is one word of a command.
type Word struct {
	Value  string `json:"value" doc:"unquoted; what is known of it when not static"`
	Static bool   `json:"static" doc:"every shell passes exactly value; a tilde still becomes the home folder"`
	Flag   bool   `json:"flag" doc:"begins with -, so it may be an option"`
	Glob   bool   `json:"glob" doc:"holds an unquoted *, ? or ["`
	Tilde  bool   `json:"tilde" doc:"an unquoted ~ stands first"`
	Brace  bool   `json:"brace" doc:"holds unquoted braces"`
	Path   *Path  `json:"path" doc:"file the word names, resolved against the command's folder; null when it names none"`

	unknown bool // not static for more than a pattern or braces
}

// Variable is one assignment before a command.
type Variable struct {
	Name   string `json:"name" doc:"of the variable"`
	Static bool   `json:"static" doc:"the value is known before it runs"`
}

// Name is the word a command is started by.
type Name struct {
	Value    string `json:"value" doc:"as written, unquoted"`
	Static   bool   `json:"static" doc:"value is all of it"`
	Basename string `json:"basename" doc:"last segment, letters lowered, without .exe; empty when only known at run time or when there are redirections only"`
	Path     *Path  `json:"path" doc:"where the name holds a separator, as in ./build.sh; else null"`

	tilde bool
}

// Folder is the working folder of a command.
type Folder struct {
	Value string `json:"value" doc:"absolute, links followed; empty when not known"`
	Known bool   `json:"known" doc:"false after a change of folder that cannot be followed; relative paths are then unresolved"`
}

// Heredoc is the text of a here-document.
type Heredoc struct {
	Quoted bool `json:"quoted" doc:"the shell expands nothing in it"`
	Bytes  int  `json:"bytes" doc:"length of the text as written"`
}

// Redirect is one redirection.
type Redirect struct {
	Op      string   `json:"op" doc:"as the shell writes it: >, >>, <, >&, <<, <<< …"`
	FD      int      `json:"fd" doc:"number before the operator; -1 when none is written"`
	Target  string   `json:"target" doc:"word behind it, unquoted; 1 of a duplication, empty for here-documents and here-strings"`
	Static  bool     `json:"static" doc:"target or text is known before it runs"`
	Writes  bool     `json:"writes" doc:"opens a file for writing"`
	Heredoc *Heredoc `json:"heredoc" doc:"null for others"`
	Path    *Path    `json:"path" doc:"null when it opens no file that could matter: duplications, here-documents, /dev/null"`

	tilde bool
	text  string // of a here-document or here-string that is known
}

// Command is one program that a shell text would start.
type Command struct {
	Name           Name       `json:"name" doc:"word it is started by"`
	Text           string     `json:"text" doc:"name and arguments, unquoted, joined by blanks, for rules of the form Bash(…)"`
	Static         bool       `json:"static" doc:"name and every argument are static"`
	Args           []Word     `json:"args" doc:"words after the name"`
	Env            []Variable `json:"env" doc:"set or unset for it alone, before its name or by env; * for all, as by env -i"`
	Redirects      []Redirect `json:"redirects" doc:"of this command; those of a block stand on a command without a name"`
	Via            []string   `json:"via" doc:"wrappers it was found behind, outermost first: env, timeout, xargs, find, bash …"`
	Depth          int        `json:"depth" doc:"shell texts around it, 0 to 4"`
	Wrapper        bool       `json:"wrapper" doc:"only starts the next command, whose meaning it leaves unchanged"`
	InSubstitution bool       `json:"in_substitution" doc:"stands in $(…), backquotes, <(…) or >(…)"`
	Cwd            Folder     `json:"cwd" doc:"folder its arguments count from, git -C and make -C included; its redirections count from the shell's"`
	Git            *Git       `json:"git" doc:"null for other programs"`

	AllowedByCaller bool `json:"allowed_by_caller" doc:"a specific rule of the caller's covers this command, and nothing around it escapes the rule"`

	at *place // of the shell, where redirections count from
	in *place // where arguments count from

	own      int  // words before the command that a wrapper starts, plus 1; 0 for all
	moved    int  // argument that changed in; 0 for none, since no program takes its first so
	operands int  // sed: index of the first file, behind the script
	inPlace  bool // sed -i
	roams    bool // find: follows links while it deletes or starts something
	deletes  bool // find -delete
}

// Features are constructs worth knowing, each false unless seen.
type Features struct {
	CmdSubst       bool `json:"cmdsubst" doc:"$(…) or backquotes"`
	ProcSubst      bool `json:"procsubst" doc:"<(…) or >(…)"`
	Param          bool `json:"param" doc:"$x, ${x…}"`
	Arith          bool `json:"arith" doc:"$((…)), ((…)) or let"`
	Glob           bool `json:"glob" doc:"an unquoted *, ? or ["`
	Function       bool `json:"function" doc:"defines a function"`
	Alias          bool `json:"alias" doc:"defines an alias"`
	Background     bool `json:"background" doc:"&, coproc"`
	ControlFlow    bool `json:"control_flow" doc:"if, while, until, for, select, case, [["`
	Heredoc        bool `json:"heredoc" doc:"<<X"`
	HeredocExpand  bool `json:"heredoc_expand" doc:"a here-document in which the shell expands something"`
	Assign         bool `json:"assign" doc:"sets a variable, for one command or for all that follow"`
	AssignLater    bool `json:"assign_later" doc:"sets a variable that stays for the commands that follow"`
	DynamicName    bool `json:"dynamic_name" doc:"a command whose name is only known at run time"`
	ControlChars   bool `json:"control_chars" doc:"control characters or broken UTF-8"`
	InvisibleChars bool `json:"invisible_chars" doc:"characters of no width, odd blanks, marks of direction"`
	MixedScript    bool `json:"mixed_script" doc:"letters of several alphabets in one name, as in a Cyrillic c before at"`
	Eval           bool `json:"eval" doc:"a program that takes its arguments for shell text: eval, trap, ssh, watch …"`
	Source         bool `json:"source" doc:"source or ."`
	Inline         bool `json:"inline" doc:"code handed to an interpreter: sh -c, python -c, awk"`
	Chdir          bool `json:"chdir" doc:"the working folder changes underway"`
	TooLong        bool `json:"too_long" doc:"longer, or with more files to look at, than is analysed"`
	TooDeep        bool `json:"too_deep" doc:"nested deeper than is analysed"`
	Metadata       bool `json:"metadata" doc:"names the cloud metadata address in any spelling"`
}

// Shell is what is known about one shell text. The zero value knows nothing
// and is not OK.
type Shell struct {
	OK       bool      `json:"ok" doc:"every command was found and named"`
	Reason   string    `json:"reason" doc:"why not ok; empty when ok"`
	Commands []Command `json:"commands" doc:"at most 64, in the order they are written; those behind a wrapper follow it"`
	Features Features  `json:"features" doc:"constructs that were seen"`

	assigned []Word // values given to variables
}
