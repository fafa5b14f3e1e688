package plugins

import (
	"encoding/json"
	"strings"
)

// MaxPath is how many bytes a JSON pointer may have that a guest asks with.
const MaxPath = 4 << 10

// validPointer says whether path is a JSON pointer (RFC 6901).
func validPointer(path string) bool {
	if path == "" {
		return true
	}
	if path[0] != '/' {
		return false
	}
	for i := strings.IndexByte(path, '~'); i >= 0; {
		if i+1 == len(path) || path[i+1] != '0' && path[i+1] != '1' {
			return false
		}
		next := strings.IndexByte(path[i+1:], '~')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return true
}

// cutToken takes the first token of a valid pointer that is not empty.
func cutToken(path string) (token, rest string) {
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		path, rest = path[:i], path[i:]
	}
	if strings.IndexByte(path, '~') >= 0 {
		path = strings.ReplaceAll(strings.ReplaceAll(path, "~1", "/"), "~0", "~")
	}
	return path, rest
}

// find is the node a valid pointer names, -1 where there is none.
func (t *tape) find(path string) int {
	at := 0
	for path != "" {
		var token string
		token, path = cutToken(path)
		switch t.nodes[at].kind {
		case '{':
			at = t.member(at, token)
		case '[':
			at = t.element(at, token)
		default:
			return -1
		}
		if at < 0 {
			return -1
		}
	}
	return at
}

// member is the value of a name in an object. Of a name that is there twice the last
// one counts, as it does for policies.
func (t *tape) member(object int, name string) int {
	found := -1
	end := int(t.nodes[object].next)
	for at := object + 1; at < end; at = int(t.nodes[at+1].next) {
		if t.named(at, name) {
			found = at + 1
		}
	}
	return found
}

func (t *tape) named(at int, name string) bool {
	n := t.nodes[at]
	literal := t.raw[n.start:n.end]
	if n.kind == 's' {
		return string(literal[1:len(literal)-1]) == name
	}
	var decoded string
	return json.Unmarshal(literal, &decoded) == nil && decoded == name
}

func (t *tape) element(array int, token string) int {
	index, ok := arrayIndex(token)
	if !ok {
		return -1
	}
	end := int(t.nodes[array].next)
	for at := array + 1; at < end; at = int(t.nodes[at].next) {
		if index == 0 {
			return at
		}
		index--
	}
	return -1
}

// arrayIndex reads a token as an index: digits without leading zeros. "-", the
// element behind the last one, is no element.
func arrayIndex(token string) (int, bool) {
	if token == "" || len(token) > 9 || token[0] == '0' && len(token) > 1 {
		return 0, false
	}
	n := 0
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return 0, false
		}
		n = n*10 + int(token[i]-'0')
	}
	return n, true
}
