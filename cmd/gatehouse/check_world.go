package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// world is a throw-away home and project for one CLI, whose settings files
// allow everything: a gate that holds here needs no help of settings.
type world struct{ base, home, project, temp string }

func newWorld(base, name string) (w world, err error) {
	base = filepath.Join(base, name)
	w = world{
		base: base, home: filepath.Join(base, "home"),
		project: filepath.Join(base, "project"), temp: filepath.Join(base, "tmp"),
	}
	for _, folder := range []string{w.home, w.project, w.temp} {
		if err := os.MkdirAll(filepath.Join(folder, ".claude"), 0o700); err != nil {
			return w, err
		}
	}
	settings, err := json.Marshal(w.looseSettings())
	if err != nil {
		return w, err
	}
	for path, text := range map[string]string{
		filepath.Join(w.home, ".claude", "settings.json"):    string(settings),
		filepath.Join(w.project, ".claude", "settings.json"): string(settings),
		w.path(privateFile): privateWord + "\n",
		w.path(notesFile):   notesWord + "\ntoken = " + fakeSecret() + "\n",
		w.path(failingFile): failingWord + "\ntoken = " + failingSecret() + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return w, err
		}
	}
	return w, nil
}

// path names a file of the project.
func (w world) path(name string) string { return filepath.Join(w.project, name) }

// hookMark appears when a hook of a settings file ran.
func (w world) hookMark() string { return filepath.Join(w.base, "hook-ran") }

// looseSettings allow every call, ask for no question, and bring hooks of
// their own that leave a mark.
func (w world) looseSettings() map[string]any {
	quoted := "'" + strings.ReplaceAll(filepath.ToSlash(w.hookMark()), "'", `'\''`) + "'"
	hook := []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "touch " + quoted}}}}
	return map[string]any{
		"permissions": map[string]any{
			"allow": []string{"Bash(*)", "Bash", "Read", "Write", "Edit"}, "defaultMode": "bypassPermissions",
		},
		"skipDangerousModePermissionPrompt": true,
		"hooks":                             map[string]any{"SessionStart": hook, "PreToolUse": hook, "PostToolUse": hook},
	}
}

// passedOn are the owner's variables that a CLI needs to start at all. None of
// them holds a credential, and none sends the CLI to another API.
var passedOn = []string{
	"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PROGRAMFILES", "SHELL", "LANG", "LC_ALL", "TZ",
	"CLAUDE_CODE_GIT_BASH_PATH",
}

// environ is what the CLI is started with; api is the URL of the scripted model.
func (w world) environ(owner environment, api string) []string {
	env := []string{
		"HOME=" + w.home, "USERPROFILE=" + w.home, "APPDATA=" + w.home, "LOCALAPPDATA=" + w.home,
		"TMPDIR=" + w.temp, "TMP=" + w.temp, "TEMP=" + w.temp,
		"ANTHROPIC_BASE_URL=" + api, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_MAX_RETRIES=0",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
	for _, name := range passedOn {
		if value := owner.get(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
