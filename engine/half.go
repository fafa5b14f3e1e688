package engine

import (
	"encoding/json"
	"strings"
)

// The CLI hands over the beginning of an output that is too long, cut after
// 30,000 characters (CLI 2.1.197). A secret that stands across the cut would not
// be recognised by its first half.

const (
	cutFrom = 29 << 10 // characters of an output from which it may have been cut
	maxHalf = 512      // bytes that are looked at before the cut
	halfOut = "[cut]"  // stands for the word before the cut
)

// withoutHalf is the output of a shell command without the last word of a text
// that the CLI has cut; any other output is returned as it is.
func withoutHalf(tool string, output json.RawMessage) json.RawMessage {
	if tool != "Bash" && tool != "PowerShell" || len(output) < cutFrom {
		return output
	}
	v, _ := decodeOutput(output)
	m, _ := v.(map[string]any)
	text, _ := m["stdout"].(string)
	if m["persistedOutputPath"] == nil || text == "" {
		return output
	}
	m["stdout"] = beforeLastWord(text)
	raw, ok := encodeOutput(m)
	if !ok {
		return output
	}
	return raw
}

func beforeLastWord(text string) string {
	from := max(len(text)-maxHalf, 0)
	at := strings.LastIndexAny(text[from:], " \t\r\n") + 1
	if from+at == len(text) {
		return text
	}
	return strings.ToValidUTF8(text[:from+at], "") + halfOut
}
