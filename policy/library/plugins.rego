# Helpers for rules that rest on what plugins said. Rules of calls
# (gatehouse.permission) and of requests (gatehouse.admission) import them:
#
#	import data.gatehouse.plugins
#
#	decisions contains {"effect": "ask", "rule": "team.scan", "reason": "the scanner did not answer"} if {
#		not plugins.plugin_ok("scan")
#	}
#
# Each always has a value, also for a plugin that is not there.
package gatehouse.plugins

# plugin_ok is true of a plugin that is there, was heard about this call and did not fail.
default plugin_ok(_) := false

plugin_ok(name) if {
	input.plugins[name].ok
	input.plugins[name].error == ""
}

# plugin_annotation is what a plugin that is ok annotated under key, else fallback.
plugin_annotation(name, key, fallback) := value if {
	plugin_ok(name)
	value := input.plugins[name].annotations[key]
} else := fallback
