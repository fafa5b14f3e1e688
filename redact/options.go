package redact

// Options says what a [Scanner] looks for beside the vendor formats.
type Options struct {
	Context bool              `json:"context,omitempty"` // also secrets that only their surroundings tell, such as password = "…"
	Custom  []Custom          `json:"custom,omitempty"`
	Values  map[string]string `json:"-"` // further secrets by the name they are told as; values shorter than 8 bytes are refused
}

// Custom is a detector of the user's own.
type Custom struct {
	Name     string   `json:"name"`               // 1 to 64 of a-z, 0-9 and "-"; not one of the built-in names
	Pattern  string   `json:"pattern"`            // RE2; the group named "secret", or else the whole match, is covered
	Keywords []string `json:"keywords,omitempty"` // the pattern counts only in texts that hold one of them; case does not matter
}

// New makes a scanner; the error names the option that is wrong.
func New(o Options) (Scanner, error) { return Scanner{}, nil }
