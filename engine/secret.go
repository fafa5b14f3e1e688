package engine

// Secret is a text that prints as a placeholder, so that no log, error or
// encoder shows it. Convert it with string(s) where it is used.
type Secret string

const secretShown = "[secret]"

// String returns the placeholder.
func (Secret) String() string { return secretShown }

// GoString returns the placeholder, for %#v.
func (Secret) GoString() string { return secretShown }

// MarshalText returns the placeholder.
func (Secret) MarshalText() ([]byte, error) { return []byte(secretShown), nil }
