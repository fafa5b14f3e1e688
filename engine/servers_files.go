package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// This file reads what the owner's configuration of the CLI says of MCP servers.
// No error of it holds what stands in a file.

// maxGlobalFile bounds the CLI's global file: it holds a history of every folder.
const maxGlobalFile = 16 << 20

// globalFile is what is read of the CLI's global file.
type globalFile struct {
	McpServers map[string]json.RawMessage `json:"mcpServers"`
	Projects   map[string]json.RawMessage `json:"projects"`
}

// projectEntry is what the global file keeps for one folder.
type projectEntry struct {
	McpServers map[string]json.RawMessage `json:"mcpServers"`
	disabledServers
}

// disabledServers are names the owner said no to.
type disabledServers struct {
	DisabledMcpServers     []string `json:"disabledMcpServers"`     // whatever the source
	DisabledMcpjsonServers []string `json:"disabledMcpjsonServers"` // of .mcp.json
}

func (p *project) decode(name string, v any) error {
	raw, err := p.read(name, maxSettingsFile)
	if err != nil {
		return err
	}
	return decodeFile(name, raw, v)
}

// decodeFile keeps what stands in the file out of its error.
func decodeFile(name string, raw []byte, v any) error {
	switch err := json.Unmarshal(raw, v).(type) {
	case nil:
		return nil
	case *json.SyntaxError:
		return fmt.Errorf("%s: not valid JSON at byte %d", name, err.Offset)
	default:
		return fmt.Errorf("%s: a member has the wrong type", name)
	}
}

// readOwn decodes a file of the owner; links are followed, as the CLI does.
func readOwn(path string, limit int64, v any) error {
	raw, err := regular.Read(path, limit)
	if err != nil {
		return err
	}
	return decodeFile(path, raw, v)
}

// projectOf finds the entry of a folder: the CLI keeps it for the repository the
// folder lies in, else for the folder itself.
func projectOf(g globalFile, cwd string) (entry projectEntry, err error) {
	for _, dir := range []string{repositoryOf(cwd), cwd} {
		for _, key := range []string{dir, filepath.ToSlash(dir)} {
			if raw, ok := g.Projects[key]; ok {
				return entry, decodeFile("projects["+key+"] of the CLI's global file", raw, &entry)
			}
		}
	}
	return entry, nil
}

// repositoryOf is the nearest folder that holds .git, else dir.
func repositoryOf(dir string) string {
	for up := dir; ; up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			return up
		}
		if up == filepath.Dir(up) {
			return dir
		}
	}
}
