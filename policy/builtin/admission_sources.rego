# Parameters that are free only in part: settingSources and agents.
package gatehouse.admission

decisions contains {
	"effect": "deny", "rule": "admission.sources", "severity": "high",
	"reason": needs(sprintf("settingSources with %q in a folder that is not trusted", [sprintf("%v", [s])]), "admission.sources", "settingSources"),
} if {
	some s in input.parameters.settingSources
	s in {"project", "local"}
	not input.trusted
	not granted("settingSources")
}

decisions contains {
	"effect": "deny", "rule": "admission.sources", "severity": "high",
	"reason": never("settingSources of another form", "admission.sources", "give a list of \"user\", \"project\" and \"local\""),
} if {
	"settingSources" in input.names
	not sources_valid
}

sources_valid if {
	is_array(input.parameters.settingSources)
	every s in input.parameters.settingSources {
		s in {"user", "project", "local"}
	}
}

# An agent may describe itself; hooks, servers and a mode of its own need a grant.
agent_keys := {"background", "color", "description", "disallowedTools", "effort", "maxTurns", "model", "prompt", "tools"}

decisions contains {
	"effect": "deny", "rule": "admission.agents", "severity": "high",
	"reason": needs(sprintf("agent %q with %q", [short(name), short(key)]), "admission.agents", "agents"),
} if {
	some name, agent in input.parameters.agents
	some key, _ in agent
	not key in agent_keys
	not granted("agents")
}

decisions contains {
	"effect": "deny", "rule": "admission.agents", "severity": "high",
	"reason": never("agents of another form", "admission.agents", "give an object of objects by name"),
} if {
	"agents" in input.names
	not agents_valid
}

agents_valid if {
	is_object(input.parameters.agents)
	every agent in input.parameters.agents {
		is_object(agent)
	}
}
