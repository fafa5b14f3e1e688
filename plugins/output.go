package plugins

import "encoding/json"

// checkOutput is what becomes of an output where it is only tried: the same errors,
// and nothing else.
func checkOutput(p *plugin, hook Hook, d *document, output json.RawMessage) (err error) {
	switch hook {
	case RedactHook, PostTool:
		var edits []edit
		if edits, err = decodeEdits(output); err != nil {
			return err
		}
		if payload := d.members["payload"]; payload != nil {
			_, err = (&editing{plugin: p.config.Name}).apply(payload.raw, edits)
		}
	case ToolsList:
		_, err = decodeTools(p.config.Name, output)
	case ToolsCall:
		err = checkToolResult(output)
	}
	return err
}
