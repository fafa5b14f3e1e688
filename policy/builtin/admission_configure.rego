# What changes the server itself. Looking is free, and so is what ends the bypass;
# what enables it takes a grant that is written out, as "*" is easily written.
package gatehouse.admission

configure_actions := {"enable_bypass", "disable_bypass", "get_config"}

decisions contains {
	"effect": "deny", "rule": "admission.configure", "severity": "critical",
	"reason": never("a configure of another kind", "admission.configure", "give action enable_bypass, disable_bypass or get_config"),
} if {
	input.action == "configure"
	not input.parameters.action in configure_actions
}

enables_bypass if {
	input.action == "configure"
	not input.parameters.action in {"disable_bypass", "get_config"}
}

decisions contains {
	"effect": "deny", "rule": "admission.configure_bypass", "severity": "critical",
	"reason": `enable_bypass lets run what the policies ask about, so it needs a grant of its own (rule admission.configure_bypass): add "bypassPermissions" to [grants] parameters, as in: [grants] parameters = ["bypassPermissions"]; "*" does not grant it`,
} if {
	enables_bypass
	not "bypassPermissions" in input.grants
}

decisions contains {
	"effect": "deny", "rule": "admission.configure_bypass", "severity": "critical",
	"reason": never(sprintf("enable_bypass in profile %s", [input.profile]), "admission.configure_bypass", "another profile asks, as in: profile = \"dev\""),
} if {
	enables_bypass
	input.profile in {"ci", "locked", "readonly"}
}
