package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/private"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// The ledger tells what retention removed, one line for each log, so that a log
// that begins in the middle, or is gone, is told from one that somebody cut.
const (
	ledgerName    = "retention.jsonl"
	ledgerLock    = "retention.lock"
	maxLedger     = 8 << 20 // of the file, in bytes
	maxLedgerLogs = 10_000  // it tells of; older ones are forgotten
)

// removal is what was removed of one log: all up to a record.
type removal struct {
	By    string    `json:"by"` // the server that did it
	Boot  string    `json:"boot"`
	Seq   int64     `json:"seq"`
	Hash  string    `json:"h"`
	Whole bool      `json:"whole,omitempty"` // nothing is left of the log
	Time  time.Time `json:"time"`
	Signature
}

func (r removal) text() []byte {
	return fmt.Appendf(nil, "gatehouse-audit-removal-1\n%s\n%s\n%d\n%s\n%t\n%s\n", r.By, r.Boot, r.Seq, r.Hash, r.Whole, r.Time.UTC().Format(time.RFC3339Nano))
}

// readLedger returns the newest line about each log. Lines that cannot be read
// are left out: what they told of then shows as missing.
func readLedger(servers string) (map[string]removal, []string, error) {
	f, err := regular.Open(inFolder(servers, ledgerName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("retention ledger: %w", err)
	}
	defer f.Close()
	found, order := map[string]removal{}, []string{}
	for lines := newLineReader(f); ; {
		line, err := lines.next()
		if err != nil { // the end, or a torn line
			return found, order, nil
		}
		var r removal
		if json.Unmarshal(line, &r) != nil || !bootForm.MatchString(r.Boot) {
			continue
		}
		if _, there := found[r.Boot]; !there {
			order = append(order, r.Boot)
		}
		found[r.Boot] = r
	}
}

// appendLedger adds a line and waits until it is on disk. One that has grown too
// long is written anew, with the newest line about each log.
func appendLedger(servers string, r removal) error {
	path := inFolder(servers, ledgerName)
	if info, err := os.Stat(path); err == nil && info.Size() > maxLedger {
		if err := compactLedger(servers); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, private.FileMode)
	if err != nil {
		return fmt.Errorf("retention ledger: %w", err)
	}
	_, err = f.Write(append(append([]byte("\n"), detail(r)...), '\n')) // the newline before it ends a torn line
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("retention ledger: %w", err)
	}
	return nil
}

func compactLedger(servers string) error {
	found, order, err := readLedger(servers)
	if err != nil {
		return err
	}
	var text []byte
	for _, boot := range order[max(0, len(order)-maxLedgerLogs):] {
		text = append(append(text, detail(found[boot])...), '\n')
	}
	next := inFolder(servers, ledgerName+".new")
	os.Remove(next)
	if err = writeNew(next, text); err == nil {
		err = os.Rename(next, inFolder(servers, ledgerName))
	}
	if err != nil {
		return fmt.Errorf("retention ledger: %w", err)
	}
	return nil
}
