package plugins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// Bounds of a number in an annotation, which are those of policies: what they cannot
// compare they would not see, and the plugin's on_error would not hold for it.
const (
	maxExponent = 400
	maxDigits   = 512 // bytes of the number
)

// checkNumbers refuses numbers of valid JSON that policies cannot compare.
func checkNumbers(raw []byte) error {
	if kind := rawjson.Kind(raw); kind == "a string" || kind == "a boolean" || kind == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end
		}
		if n, ok := token.(json.Number); ok && !comparableNumber(n.String()) {
			return fmt.Errorf("has the number %s, which policies cannot compare: at most %d digits and an exponent of up to %d are taken", clip(n.String()), maxDigits, maxExponent)
		}
	}
}

func comparableNumber(n string) bool {
	if len(n) > maxDigits {
		return false
	}
	_, exponent, found := strings.Cut(strings.ToLower(n), "e")
	if !found {
		return true
	}
	size, err := strconv.Atoi(exponent)
	return err == nil && size <= maxExponent && size >= -maxExponent
}
