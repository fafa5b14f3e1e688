package facts

import "strings"

// secrets may be neither read nor written.
var secrets = []protection{
	{name: "env_file", pattern: ".env"},
	{name: "env_file", pattern: ".env.*", except: []string{".env.example"}},
	{name: "env_file", pattern: ".env-*", except: []string{".env-example"}},
	{name: "env_file", pattern: ".env_*", except: []string{".env_example"}},
	{name: "env_file", pattern: ".envrc"},
	{name: "private_key", pattern: "*.pem"},
	{name: "private_key", pattern: "id_rsa"},
	{name: "private_key", pattern: "id_dsa"},
	{name: "private_key", pattern: "id_ecdsa*", except: []string{"id_ecdsa.pub", "id_ecdsa_sk.pub"}, rules: []string{"**/id_ecdsa", "**/id_ecdsa_sk"}},
	{name: "private_key", pattern: "id_ed25519*", except: []string{"id_ed25519.pub", "id_ed25519_sk.pub"}, rules: []string{"**/id_ed25519", "**/id_ed25519_sk"}},
	{name: "private_key", pattern: "*.p12"},
	{name: "private_key", pattern: "*.pfx"},
	{name: "private_key", pattern: "*.kdbx"},
	{name: "private_key", pattern: "*.ppk"},
	{name: "ssh", pattern: ".ssh/"},
	{name: "aws", pattern: ".aws/"},
	{name: "gnupg", pattern: ".gnupg/"},
	{name: "kube", pattern: ".kube/"},
	{name: "azure", pattern: ".azure/"},
	{name: "gcloud", pattern: ".config/gcloud/"},
	{name: "github_cli", pattern: ".config/gh/"},
	{name: "docker_login", pattern: ".docker/config.json"},
	{name: "login_file", pattern: ".netrc"},
	{name: "login_file", pattern: "_netrc"},
	{name: "login_file", pattern: ".npmrc"},
	{name: "login_file", pattern: ".pypirc"},
	{name: "login_file", pattern: ".pgpass"},
	{name: "login_file", pattern: ".git-credentials"},
	{name: "login_file", pattern: ".config/git/credentials"},
	{name: "login_file", pattern: ".cargo/credentials"},
	{name: "login_file", pattern: ".cargo/credentials.toml"},
	{name: "login_file", pattern: ".gem/credentials"},
	{name: "login_file", pattern: ".terraform.d/credentials.tfrc.json"},
	{name: "login_file", pattern: ".vault-token"},
	{name: "password_store", pattern: ".password-store/"},
	{name: "password_store", pattern: "library/keychains/"},
	{name: "password_store", pattern: ".local/share/keyrings/"},
	{name: "account_passwords", pattern: "/etc/shadow"},
	{name: "account_passwords", pattern: "/etc/shadow-"},
	{name: "account_passwords", pattern: "/etc/gshadow"},
	{name: "cli_credentials", pattern: ".claude/.credentials.json"},
	{name: "cli_credentials", pattern: ".claude.json"},
	{name: "process_memory", pattern: "proc/*/environ", rules: []string{"//proc/**"}},
	{name: "process_memory", pattern: "proc/*/task/*/environ", rules: []string{}},
	{name: "process_memory", pattern: "proc/*/mem", rules: []string{}},
	{name: "process_memory", pattern: "proc/*/task/*/mem", rules: []string{}},
	{name: "process_memory", pattern: "proc/*/fd/", rules: []string{}},
	{name: "process_memory", pattern: "/proc/kcore", rules: []string{}},
	{name: "process_memory", pattern: "/dev/mem"},
}

// guards may not be written: they decide what later calls may do, or start
// programs behind the session's back.
var guards = []protection{
	{name: "cli_settings", pattern: ".claude/settings*.json"},
	{name: "cli_settings", pattern: "managed-settings*.json"},
	{name: "cli_settings", pattern: "managed-settings.d/"},
	{name: "cli_settings", pattern: "/etc/claude-code/"},
	{name: "cli_hooks", pattern: ".claude/hooks/"},
	{name: "cli_plugins", pattern: ".claude/plugins/"},
	{name: "mcp_servers", pattern: ".mcp.json"},
	{name: "mcp_servers", pattern: "managed-mcp.json"},
	{name: "git_metadata", pattern: ".git/"},
	{name: "git_config", pattern: ".gitconfig"},
	{name: "git_config", pattern: ".config/git/"},
	{name: "git_config", pattern: "/etc/gitconfig"},
	{name: "git_hooks", pattern: ".husky/"},
	{name: "git_hooks", pattern: ".githooks/"},
	{name: "gatehouse", pattern: ".gatehouse/"},
	{name: "gatehouse", pattern: "gatehouse.toml"},
	{name: "authorized_keys", pattern: "authorized_keys"},
	{name: "authorized_keys", pattern: "authorized_keys2"},
	{name: "cron", pattern: "/etc/cron*/"},
	{name: "cron", pattern: "/etc/anacrontab"},
	{name: "cron", pattern: "/etc/at.*"},
	{name: "cron", pattern: "/var/spool/cron/"},
	{name: "cron", pattern: "/var/spool/at/"},
	{name: "cron", pattern: "/var/at/"},
	{name: "service_unit", pattern: "/etc/systemd/"},
	{name: "service_unit", pattern: "/lib/systemd/"},
	{name: "service_unit", pattern: "/usr/lib/systemd/"},
	{name: "service_unit", pattern: "/usr/local/lib/systemd/"},
	{name: "service_unit", pattern: "/run/systemd/"},
	{name: "service_unit", pattern: "/etc/init.d/"},
	{name: "service_unit", pattern: "/etc/rc.local"},
	{name: "service_unit", pattern: ".config/systemd/"},
	{name: "service_unit", pattern: ".local/share/systemd/"},
	{name: "service_unit", pattern: ".config/environment.d/"},
	{name: "service_unit", pattern: "library/launchagents/"},
	{name: "service_unit", pattern: "library/launchdaemons/"},
	{name: "service_unit", pattern: "library/startupitems/"},
	{name: "autostart", pattern: ".config/autostart/"},
	{name: "autostart", pattern: "/etc/xdg/autostart/"},
	{name: "autostart", pattern: "start menu/programs/startup/"},
	{name: "autostart", pattern: ".xprofile"},
	{name: "autostart", pattern: ".xinitrc"},
	{name: "autostart", pattern: ".xsession"},
	{name: "shell_start", pattern: ".bashrc"},
	{name: "shell_start", pattern: ".bash_profile"},
	{name: "shell_start", pattern: ".bash_login"},
	{name: "shell_start", pattern: ".bash_logout"},
	{name: "shell_start", pattern: ".bash_aliases"},
	{name: "shell_start", pattern: ".profile"},
	{name: "shell_start", pattern: ".zshrc"},
	{name: "shell_start", pattern: ".zshenv"},
	{name: "shell_start", pattern: ".zprofile"},
	{name: "shell_start", pattern: ".zlogin"},
	{name: "shell_start", pattern: ".zlogout"},
	{name: "shell_start", pattern: ".kshrc"},
	{name: "shell_start", pattern: ".cshrc"},
	{name: "shell_start", pattern: ".tcshrc"},
	{name: "shell_start", pattern: ".login"},
	{name: "shell_start", pattern: ".pam_environment"},
	{name: "shell_start", pattern: ".config/fish/"},
	{name: "shell_start", pattern: "profile.ps1"},
	{name: "shell_start", pattern: "*_profile.ps1"},
	{name: "shell_start", pattern: "/etc/profile"},
	{name: "shell_start", pattern: "/etc/profile.d/"},
	{name: "shell_start", pattern: "/etc/bash*"},
	{name: "shell_start", pattern: "/etc/zsh*/"},
	{name: "shell_start", pattern: "/etc/fish/"},
	{name: "shell_start", pattern: "/etc/environment"},
	{name: "loader", pattern: "/etc/ld.so.*/"},
	{name: "privilege", pattern: "/etc/sudoers"},
	{name: "privilege", pattern: "/etc/sudoers.d/"},
	{name: "privilege", pattern: "/etc/pam.d/"},
	{name: "editor_tasks", pattern: ".vscode/tasks.json"},
	{name: "editor_tasks", pattern: ".idea/runconfigurations/"},
	{name: "editor_tasks", pattern: ".run/*.run.xml"},
	{name: "editor_tasks", pattern: ".zed/tasks.json"},
}

// doubtful places are worth a question.
var doubtful = []protection{
	{name: "key_file", pattern: "*.key"},
	{name: "key_file", pattern: "*.jks"},
	{name: "key_file", pattern: "*.keystore"},
	{name: "key_file", pattern: "*.p8"},
	{name: "secret_file", pattern: "secrets*"},
	{name: "secret_file", pattern: "service-account*.json"},
	{name: "secret_file", pattern: "service_account*.json"},
	{name: "secret_file", pattern: "credentials.json"},
}

// doubtfulWrites are worth a question when written: they steer agents, or
// start programs when somebody builds, installs, commits or opens the folder.
var doubtfulWrites = []protection{
	{name: "agent_instructions", pattern: "claude.md"},
	{name: "agent_instructions", pattern: "claude.local.md"},
	{name: "agent_instructions", pattern: "agents.md"},
	{name: "agent_instructions", pattern: ".claude/"},
	{name: "agent_instructions", pattern: ".claude-plugin/"},
	{name: "ci", pattern: ".github/workflows/"},
	{name: "ci", pattern: ".github/actions/"},
	{name: "ci", pattern: ".gitlab-ci.yml"},
	{name: "ci", pattern: ".gitlab-ci.yaml"},
	{name: "ci", pattern: ".gitlab/ci/"},
	{name: "ci", pattern: ".circleci/"},
	{name: "ci", pattern: ".buildkite/"},
	{name: "ci", pattern: ".forgejo/workflows/"},
	{name: "ci", pattern: ".gitea/workflows/"},
	{name: "ci", pattern: ".woodpecker/"},
	{name: "ci", pattern: ".teamcity/"},
	{name: "ci", pattern: "jenkinsfile*"},
	{name: "ci", pattern: "azure-pipelines*.yml"},
	{name: "ci", pattern: "bitbucket-pipelines.yml"},
	{name: "ci", pattern: ".travis.yml"},
	{name: "ci", pattern: ".drone.yml"},
	{name: "ci", pattern: ".woodpecker.y*ml"},
	{name: "ci", pattern: ".cirrus.yml"},
	{name: "ci", pattern: "appveyor.yml"},
	{name: "ci", pattern: ".appveyor.yml"},
	{name: "ci", pattern: "cloudbuild.y*ml"},
	{name: "ci", pattern: "buildspec.y*ml"},
	{name: "package_scripts", pattern: "package.json"},
	{name: "package_scripts", pattern: "composer.json"},
	{name: "git_hooks", pattern: ".pre-commit-config.y*ml"},
	{name: "git_hooks", pattern: "lefthook*.y*ml"},
	{name: "git_attributes", pattern: ".gitattributes"},
	{name: "git_attributes", pattern: ".gitmodules"},
	{name: "editor_tasks", pattern: ".vscode/"},
	{name: "editor_tasks", pattern: ".idea/"},
	{name: "editor_tasks", pattern: ".zed/"},
	{name: "editor_tasks", pattern: ".run/"},
	{name: "editor_tasks", pattern: "*.code-workspace"},
	{name: "dev_container", pattern: ".devcontainer/"},
	{name: "dev_container", pattern: ".devcontainer.json"},
}

// DenyReadRules returns the secret files as patterns of the CLI's permission
// rules, to be wrapped as Read(pattern). They stop what passes no gate: @path
// mentions in prompts, commands and imported memory files, and searches. The
// CLI has no exceptions, so they cover .env.example too.
func DenyReadRules() []string {
	var rules []string
	for _, row := range secrets {
		pattern := row.pattern
		if strings.HasSuffix(pattern, "/") {
			pattern += "**"
		}
		switch {
		case row.rules != nil:
			rules = append(rules, row.rules...)
		case strings.HasPrefix(pattern, "/"):
			rules = append(rules, "/"+pattern)
		default:
			rules = append(rules, "**/"+pattern, "~/"+pattern, "//**/"+pattern)
		}
	}
	return rules
}
