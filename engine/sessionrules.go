package engine

import "slices"

// maxSessionRules bounds the rules answers may add to a session.
const maxSessionRules = 1000

// sessionRules are what answers added with updatedPermissions to the lists the
// session was started with. The CLI asks whatever its own rules say, so such
// rules count here or nowhere.
type sessionRules struct {
	allow, deny []string
}

// permissionRule is one rule of an update: a tool, or a tool and a pattern.
type permissionRule struct {
	Tool    string `json:"toolName"`
	Pattern string `json:"ruleContent"`
}

func (r permissionRule) String() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

// with returns the rules and those of an update, or says why it cannot be used.
func (r sessionRules) with(u permissionUpdate) (sessionRules, error) {
	if len(u.Rules) == 0 {
		return r, nil
	}
	list := &r.allow
	switch u.Behavior {
	case "allow":
	case "deny":
		list = &r.deny
	default:
		return r, Errorf(InvalidArgument, "updatedPermissions: behavior %q: want allow or deny", clip(u.Behavior))
	}
	*list = slices.Clone(*list)
	for _, rule := range u.Rules {
		if err := validateRule(rule.String()); err != nil {
			return r, Errorf(InvalidArgument, "updatedPermissions: %w", err)
		}
		if !slices.Contains(*list, rule.String()) {
			*list = append(*list, rule.String())
		}
	}
	if len(*list) > maxSessionRules {
		return r, Errorf(Limit, "updatedPermissions: a session takes %d rules; put them into a policy", maxSessionRules)
	}
	return r, nil
}
