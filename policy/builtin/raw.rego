# A second look at the text of a shell command that could not be analysed: what
# is spelt out in it is denied even so. It reads more than it should, quoted
# text included, which is the safe way to be wrong.
package gatehouse.permission

decisions contains d if {
	input.tool.name == "Bash"
	input.bash.ok == false
	some d in about_raw
}

about_raw contains {
	"effect": "deny", "rule": "destruction.rm_text", "severity": "critical",
	"reason": "the shell text holds an rm -rf of a root, a home folder or a folder above",
	"agent_message": "Delete only single folders inside the workspace, in a plain command of its own, as in: rm -r build; a person is asked then.",
} if {
	regex.match(`\brm\s+(-\S+\s+)*-(-recursive|[a-zA-Z]*[rR][a-zA-Z]*)(\s+-\S+)*\s+["']?(/|~|\$HOME|\$\{HOME|\.\.|\.?["']?(\s|$)|\*)`, shell_text)
}

about_raw contains {
	"effect": "deny", "rule": "shell.text", "severity": "critical",
	"reason": sprintf("the shell text cannot be judged and holds %q, which is forbidden", [trim_space(found)]),
	"agent_message": "Leave that out. If it was only part of a text, write the text to a file with the Write tool instead of passing it to the shell.",
} if {
	found := regex.find_n(forbidden_start, shell_text, 1)[0]
}

about_raw contains {
	"effect": "deny", "rule": "shell.text", "severity": "critical",
	"reason": sprintf("the shell text cannot be judged and holds %q, which is forbidden", [substring(found, 0, 60)]),
	"agent_message": "Leave that out. If it was only part of a text, write the text to a file with the Write tool instead of passing it to the shell.",
} if {
	found := regex.find_n(forbidden_anywhere, shell_text, 1)[0]
}

about_raw contains {
	"effect": "deny", "rule": "paths.text", "severity": "critical",
	"reason": sprintf("the shell text cannot be judged and names a secret file (%s)", [substring(found, 0, 60)]),
	"agent_message": "Secret files are never read or written here. Work without them; .env.example says which settings there are.",
} if {
	found := regex.find_n(secret_name, lower(shell_text), 1)[0]
}

about_raw contains no_socket if strings.count(shell_text, "/dev/tcp") + strings.count(shell_text, "/dev/udp") > 0

# programs, where a command can begin
forbidden_start := `(?:^|[\n;&|({\x60'"]|\b(?:then|do|else|exec|eval|command|env|nohup|time|xargs)\s)\s*(?:\S*/)?(?:sudo|doas|pkexec|nsenter|ncat|netcat|socat|telnet|crontab|mkfs(?:\.\w+)?|shutdown|reboot|poweroff|gatehouse|claude)(?:\s|$|["';|&)])`

forbidden_anywhere := `/dev/(?:sd|nvme|vd|hd|mmcblk|disk)\w+|:\(\)\s*\{|\bnc\s+-|--no-verify\b|core\.hookspath|git\s+push\s+(?:\S+\s+)*(?:-f|--force)\b|--privileged\b|docker\.sock|authorized_keys|169\.254\.169\.254`

secret_name := `(?:^|[\s'"=/@:(,<>])(?:\.env(?:\.(?:local|production|development|staging|test))?|\.envrc|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|id_(?:rsa|dsa|ecdsa|ed25519)|[\w.-]+\.pem|\.credentials\.json)(?:$|[\s'",;:)|&<>])|\.(?:ssh|aws|gnupg|kube)/|/proc/[^/\s]+/environ`
