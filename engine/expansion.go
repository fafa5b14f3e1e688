package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// A slash command's own text can mention files, which the CLI attaches without
// a question, and its deny rules do not follow links. So the text is found and
// its mentions are judged before the CLI expands it.

// insideCLI are sources of commands that come with the CLI itself.
var insideCLI = []string{"builtin", "bundled"}

// judgeExpansion judges the mentions of the command that is about to be
// expanded. A command whose text cannot be found is refused.
func (s *Session) judgeExpansion(ctx context.Context, input map[string]json.RawMessage) error {
	name, source := textOf(input["command_name"]), textOf(input["command_source"])
	for _, known := range insideCLI {
		if source == known {
			return nil
		}
	}
	found := false
	for _, path := range s.commandFiles(name) {
		text, err := readCommand(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.refusedExpansion(ctx, "the text of a command cannot be read")
			return Errorf(PermissionDenied, "command /%s refused by rule engine.expansion: its text cannot be read: %w", clip(name), err)
		}
		found = true
		if strings.Contains(text, "@$") {
			s.refusedExpansion(ctx, "a command mentions a file by a variable")
			return Errorf(PermissionDenied, "command /%s refused by rule engine.expansion: it mentions a file by a variable (@$…), which cannot be judged", clip(name))
		}
		if err := s.judgeMentions(ctx, text); err != nil {
			return err
		}
	}
	if !found {
		s.refusedExpansion(ctx, "the text of a command was not found")
		return Errorf(PermissionDenied, "command /%s refused by rule engine.expansion: its text was not found (source %q), so its mentions cannot be judged; write the prompt out instead", clip(name), clip(source))
	}
	return nil
}

// commandFiles are the places the CLI takes a command's text from; a colon in
// the name stands for a folder.
func (s *Session) commandFiles(name string) []string {
	part := filepath.FromSlash(strings.ReplaceAll(name, ":", "/"))
	if part == "" || !filepath.IsLocal(part) {
		return nil
	}
	folders := []string{filepath.Join(s.cwd, ".claude")}
	if own, err := UserFolder(s.engine.o.Environ); err == nil {
		folders = append(folders, own)
	}
	var files []string
	for _, folder := range folders {
		files = append(files, filepath.Join(folder, "commands", part+".md"), filepath.Join(folder, "skills", part, "SKILL.md"))
	}
	return files
}

func readCommand(path string) (string, error) {
	raw, err := regular.Read(path, maxMemoryFile)
	return string(raw), err
}
