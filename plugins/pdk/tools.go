package pdk

// Tool is a tool that a plugin offers.
type Tool struct {
	Name        string // letters, digits and underscores
	Description string // for the model
	Schema      string // JSON schema of the arguments, of type object; empty: no arguments
	Annotations string // MCP tool annotations as JSON; empty: none
}

// Tools answers tools_list, which is called once when the plugin is loaded.
func Tools(tools ...Tool) int32 {
	var b []byte
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, t.json()...)
	}
	return Output(`{"tools":[` + string(b) + `]}`)
}

func (t Tool) json() []byte {
	var o object
	o.text("name", t.Name)
	o.text("description", t.Description)
	if t.Schema == "" {
		t.Schema = `{"type":"object"}`
	}
	o.raw("inputSchema", t.Schema)
	if t.Annotations != "" {
		o.raw("annotations", t.Annotations)
	}
	return o.end()
}

// Text answers tools_call: /tool names the tool, /arguments are its input.
func Text(text string) int32 { return result(text, false) }

// TextError answers tools_call with an error that the model reads, in place of
// a result. [Fail] is for what is the plugin's own fault.
func TextError(text string) int32 { return result(text, true) }

func result(text string, isError bool) int32 {
	var block, o object
	block.text("type", "text")
	block.text("text", text)
	o.raw("content", "["+string(block.end())+"]")
	if isError {
		o.raw("isError", "true")
	}
	return Output(string(o.end()))
}
