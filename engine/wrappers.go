package engine

// Variables for wrappers of the CLI, in the words of claude-mpm.
const (
	folderVariable    = "CLAUDE_MPM_USER_PWD"   // where the session works
	noTicketsVariable = "CLAUDE_MPM_NO_TICKETS" // "1" where StartParams.NoTickets is set
)

// wrapperEnvironment stands above the owner's and the caller's variables. The
// folder is always told: one that this server inherited is that of somebody else's
// session, or the folder of the client.
func (s *Session) wrapperEnvironment() []string {
	env := []string{folderVariable + "=" + s.cwd}
	if s.params.NoTickets {
		env = append(env, noTicketsVariable+"=1")
	}
	return env
}

// settingsEnvironment are the variables in --settings: there they stand above those
// of every settings file, which stand above those of the process. nil: none.
func (s *Session) settingsEnvironment(l launch) map[string]string {
	env := l.filter.settings()
	if !s.params.NoTickets {
		return env
	}
	if env == nil {
		env = make(map[string]string, 1)
	}
	env[noTicketsVariable] = "1"
	return env
}

// tellSwitches tells what the two switches of session servers do here, so that
// nobody takes them for more.
func (s *Session) tellSwitches() {
	if s.params.NoHooks {
		s.notice("no_hooks", "hooks of users, projects and plugins run in no session here, with no_hooks or without; the policies judge every call as ever, and see input.session.no_hooks", nil)
	}
	if s.params.NoTickets {
		s.notice("no_tickets", "the CLI has "+noTicketsVariable+"=1 in its environment, tools that [mpm] ticket_tools names are disallowed in sessions of the mpm tools, and the policies see input.session.no_tickets", nil)
	}
}
