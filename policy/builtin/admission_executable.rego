# Programs and files a caller names, where the configuration grants the parameter.
package gatehouse.admission

decisions contains {
	"effect": "deny", "rule": "admission.executable", "severity": "critical",
	"reason": never(sprintf("pathToClaudeCodeExecutable %q in a folder that sessions write", [short(input.request.executable.abs)]), "admission.executable", "name it in the configuration, as in: [cli] executable = \"/usr/local/bin/claude\""),
} if {
	opens_session
	granted("pathToClaudeCodeExecutable")
	input.request.executable.inside
}

decisions contains {
	"effect": "deny", "rule": "admission.executable", "severity": "critical",
	"reason": never(sprintf("pathToClaudeCodeExecutable %q, a batch file,", [short(input.request.executable.abs)]), "admission.executable", "its arguments cannot be quoted safely; name the .exe, as in: [cli] executable = \"C:/claude/claude.exe\""),
} if {
	opens_session
	granted("pathToClaudeCodeExecutable")
	some name in [input.request.executable.abs, input.request.executable.real]
	regex.match(`(?i)\.(bat|cmd|ps1|vbs|com)[. ]*$`, name)
}

# A debug file is new, plainly named and in the session's own folder: it must
# replace no source, hook or setting.
decisions contains {
	"effect": "deny", "rule": "admission.debug_file", "severity": "high",
	"reason": never(sprintf("debugFile %q", [short(sprintf("%v", [object.get(input.parameters, "debugFile", "")]))]), "admission.debug_file", "give a plain name that ends in .log, without folders, as in: debug.log"),
} if {
	opens_session
	granted("debugFile")
	"debugFile" in input.names
	not debug_name_plain
}

debug_name_plain if {
	is_string(input.parameters.debugFile)
	regex.match(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}\.log$`, input.parameters.debugFile)
}
