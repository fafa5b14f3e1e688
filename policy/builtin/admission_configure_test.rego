package gatehouse.admission_test

configure(action, changes) := ask("configure", object.union({"names": ["action"], "parameters": {"action": action}}, changes))

test_looking_and_disabling_are_free if {
	every profile in ["dev", "none", "ci", "locked", "readonly"] {
		every action in ["get_config", "disable_bypass"] {
			denied(configure(action, {"profile": profile})) == set()
			{d.rule | some d in decided(configure(action, {"profile": profile}))} == {"admission.known"}
		}
	}
}

test_enabling_takes_its_own_grant if {
	every grants in [[], ["*"], ["permissionMode"], ["bypasspermissions"], ["bypassPermissions*"]] {
		denied(configure("enable_bypass", {"grants": grants})) == {"admission.configure_bypass"}
	}
	every profile in ["dev", "none"] {
		denied(configure("enable_bypass", {"profile": profile, "grants": ["bypassPermissions"]})) == set()
	}
}

test_enabling_takes_a_profile_that_asks if {
	every profile in ["ci", "locked", "readonly"] {
		denied(configure("enable_bypass", {"profile": profile, "grants": ["*", "bypassPermissions"]})) == {"admission.configure_bypass"}
	}
}

test_other_configures if {
	every action in ["", "enable", "ENABLE_BYPASS", ["disable_bypass"], null] {
		denied(configure(action, {"grants": ["bypassPermissions"]})) == {"admission.configure"}
		denied(configure(action, {})) == {"admission.configure", "admission.configure_bypass"}
	}
	denied(ask("configure", {"grants": ["bypassPermissions"]})) == {"admission.configure"}
}

test_the_grant_gives_no_parameter if {
	denied(set("mcpServers", {}, {"grants": ["bypassPermissions"]})) == {"admission.parameter"}
	denied(set("permissionMode", "bypassPermissions", {"grants": ["bypassPermissions"]})) == {"admission.mode"}
}

test_resuming_in_the_mode if {
	doc := object.union(set("permissionMode", "bypassPermissions", {}), {"action": "resume"})
	denied(doc) == set()
}

test_reason_names_the_grant if {
	some d in decided(configure("enable_bypass", {}))
	contains(d.reason, `[grants] parameters = ["bypassPermissions"]`)
}
