# Commands that send a file or their input away.
package gatehouse.permission

upload(c) := {
	"effect": "deny", "rule": "egress.upload", "severity": "critical",
	"reason": sprintf("%s sends files to another host", [short(c.text)]),
	"agent_message": "Nothing may be uploaded from here, by any program. Leave the file in the workspace and say where a person should send it; downloads are asked of a person.",
}

about.curl contains upload(c) if {
	some c in input.bash.commands
	c.name.basename == "curl"
	some i, a in c.args
	curl_sends(a.value, next_word(c, i))
}

# Letters of curl before which others may stand in one word: those without a value.
curl_sends(word, _) if regex.match(`^-[#0-9BGIJLMNORSVZafgijklnpqsv]*T|^--upload-f`, word)

curl_sends(word, value) if {
	regex.match(`^-[#0-9BGIJLMNORSVZafgijklnpqsv]*d$|^--(data|data-b.*|data-a.*|data-u.*|json|url-query)$`, word)
	contains(value, "@")
	regex.match(`^[^@=]*@`, value)
}

curl_sends(word, _) if regex.match(`^-[#0-9BGIJLMNORSVZafgijklnpqsv]*d@|^--(data|data-[bau][a-z]*|json)=[^@=]*@`, word)

curl_sends(word, value) if {
	regex.match(`^-[#0-9BGIJLMNORSVZafgijklnpqsv]*F$|^--form$`, word)
	regex.match(`=[@<]`, value)
}

curl_sends(word, _) if regex.match(`^(-[#0-9BGIJLMNORSVZafgijklnpqsv]*F|--form=).*=[@<]`, word)

# a file of options may hold any of them
about.curl contains {
	"effect": "deny", "rule": "egress.upload", "severity": "critical",
	"reason": sprintf("%s takes its options from a file, which may send any other", [short(c.text)]),
	"agent_message": "Write curl's options out, without -K and --config; a person is asked before a page is fetched.",
} if {
	some c in input.bash.commands
	c.name.basename == "curl"
	some a in c.args
	regex.match(`^(-[#0-9BGIJLMNORSVZafgijklnpqsv]*K|--conf)`, a.value)
}

about.wget contains upload(c) if {
	some c in input.bash.commands
	c.name.basename == "wget"
	some a in c.args
	regex.match(`^--(post-f|body-f)`, a.value)
}

about.httpie contains upload(c) if {
	some c in input.bash.commands
	"httpie" in families[c.name.basename]
	some a in c.args
	regex.match(`^[^-][^/]*:?=?@|^@`, a.value)
}

# scp and rsync send when the last word names another host; sftp and rsync
# daemons are written host::module and rsync://
about.copy contains upload(c) if {
	some c in input.bash.commands
	"copy" in families[c.name.basename]
	words := [a.value | some a in c.args; not a.flag]
	count(words) > 0
	remote(words[count(words) - 1])
}

about.copy contains upload(c) if {
	some c in input.bash.commands
	c.name.basename == "sftp"
	some a in c.args
	startswith(a.value, "-b")
}

# what is not known before it runs may name another host
about.copy contains {
	"effect": "ask", "rule": "egress.network", "severity": "high",
	"reason": sprintf("%s may reach another host", [short(c.text)]),
	"agent_message": "Write source and target out: from a host to the workspace is asked of a person, between folders of the workspace is not.",
} if {
	some c in input.bash.commands
	"copy" in families[c.name.basename]
	some a in c.args
	copies_far(a)
	not satisfied
}

copies_far(a) if remote(a.value)

copies_far(a) if not a.static

remote(word) if regex.match(`^([^/@:]+@)?[^/:]{2,}:|^[a-z]+://`, word)

about.cloud contains upload(c) if {
	some c in input.bash.commands
	"cloud" in families[c.name.basename]
	words := [a.value | some a in c.args; not a.flag]
	at := min({i | some i, word in words; word in {"cp", "mv", "sync", "rsync", "copy", "copyto", "move", "put", "upload", "upload-batch", "put-object"}})
	not downloads(array.slice(words, at + 1, count(words)))
}

# Of programs that take two places, only a folder of this machine as the last
# one is a download.
downloads(words) if {
	count(words) > 1
	regex.match(`^(s3|gs|https?|[a-z0-9_-]{2,}):`, words[0])
	not regex.match(`^(s3|gs|https?|[a-z0-9_-]{2,}):`, words[1])
}

about.cloud contains {
	"effect": "ask", "rule": "egress.network", "severity": "high",
	"reason": sprintf("%s reaches another host", [short(c.text)]),
	"agent_message": "A person is asked before a cloud is reached. Say what you need from it and why.",
} if {
	some c in input.bash.commands
	"cloud" in families[c.name.basename]
	not satisfied
}

about.github contains upload(c) if {
	some c in input.bash.commands
	c.name.basename == "gh"
	words := [a.value | some a in c.args; not a.flag]
	[words[0], words[1]] in {["gist", "create"], ["gist", "edit"], ["release", "upload"]}
}
