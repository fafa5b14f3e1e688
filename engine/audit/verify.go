package audit

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// What can be wrong with a log.
const (
	Edited       = "edited"    // the bytes of the record do not fit its hash
	Deleted      = "deleted"   // records before this one are missing
	Inserted     = "inserted"  // it does not follow the record before it
	Swapped      = "swapped"   // it stands in the place of the next one
	Cut          = "cut"       // the end of the log is missing
	Replaced     = "replaced"  // it is another one than a checkpoint knows
	Misplaced    = "misplaced" // it belongs to another log or file
	BadSignature = "signature"
	WrongKey     = "key"
	Missing      = "missing" // the whole log is gone
)

// Problem is the first thing wrong with a log.
type Problem struct {
	Boot    string `json:"server"`
	Segment string `json:"segment,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1
	Seq     int64  `json:"seq"`            // of the record, or the one that was expected
	Kind    string `json:"kind"`
	Why     string `json:"why"`
}

func (p *Problem) String() string {
	place := ""
	if p.Segment != "" {
		place = fmt.Sprintf(" (%s line %d)", p.Segment, p.Line)
	}
	return fmt.Sprintf("server %s record %d%s: %s: %s", p.Boot, p.Seq, place, p.Kind, p.Why)
}

// LogReport is what was found in one log.
type LogReport struct {
	Boot        string   `json:"server"`
	Segments    int      `json:"segments"`
	First       int64    `json:"first"` // number of the first record that is left
	Last        int64    `json:"last"`  // of the last whole one; below First: none
	Hash        string   `json:"h"`     // of that
	Checkpoints int      `json:"checkpoints"`
	KeyID       string   `json:"key_id,omitempty"` // that signed them
	SignedTo    int64    `json:"signed_to"`        // the last record under a signature; -1: none
	Closed      bool     `json:"closed"`           // the server ended in order
	Live        bool     `json:"live,omitempty"`   // the server runs
	Torn        int      `json:"torn,omitempty"`   // bytes behind the last whole record, of a crash
	Notes       []string `json:"notes,omitempty"`
	Bad         *Problem `json:"problem,omitempty"` // nil: whole

	before  string // hash of the record before First
	removed []removal
	key     ed25519.PublicKey // that signed, nil: none
}

// Report is what was found in all logs.
type Report struct {
	OK   bool        `json:"ok"`
	Logs []LogReport `json:"logs"`
	Lost []Problem   `json:"lost,omitempty"` // logs that are gone
}

// VerifyOptions say against what logs are verified.
type VerifyOptions struct {
	// Keys are those that may have signed; every record but those after the last
	// checkpoint must be under a signature then. Empty: signatures only have to fit
	// the key that is named beside them, one for each log.
	Keys []ed25519.PublicKey
	// Checkpoints that were kept elsewhere.
	Checkpoints []ExportedCheckpoint
	// Server restricts the report to logs whose id begins with it.
	Server string
}

// anchor is a record that somebody outside a log knows.
type anchor struct {
	seq  int64
	hash string
	from string
	live bool // the record may have been taken back
}

// Verify reads all logs below root. An error means that they could not be read;
// what is wrong with them stands in the report.
func Verify(root string, o VerifyOptions) (Report, error) {
	var report Report
	logs, err := Logs(root)
	if err != nil {
		return report, err
	}
	before, _, err := readLedger(inFolder(root, serversName))
	if err != nil {
		return report, err
	}
	anchors, lost := knownRecords(logs, o)
	report.Lost = append(report.Lost, lost...)
	report.Logs = []LogReport{}
	for _, s := range logs {
		if !strings.HasPrefix(s.Boot, o.Server) {
			delete(anchors, s.Boot)
			continue
		}
		one, err := verifyLog(s, anchors[s.Boot], o)
		if err != nil {
			return report, fmt.Errorf("audit log %s: %w", s.Folder, err)
		}
		if one.Segments > 0 { // else it was removed meanwhile
			report.Logs = append(report.Logs, one)
			delete(anchors, s.Boot)
		}
	}
	since, _, err := readLedger(inFolder(root, serversName)) // what was removed meanwhile
	if err != nil {
		return report, err
	}
	gone := removals{before, since, report.ring(o)}
	report.checkBegins(gone)
	report.checkGone(anchors, gone, o)
	report.noteKeys(o)
	report.OK = len(report.Lost) == 0
	for _, l := range report.Logs {
		report.OK = report.OK && l.Bad == nil
	}
	return report, nil
}

// removals are what the ledger tells, as it was before the logs were read and as
// it is after, and who may have signed it.
type removals struct {
	before, since map[string]removal
	ring          func() *keyring
}

// of calls fits with what is told of a log, until it is true. Otherwise why says
// what is wrong with a line that would fit, if there is one.
func (all removals) of(boot string, fits func(removal) bool) (told removal, why string) {
	for _, ledger := range []map[string]removal{all.before, all.since} {
		r, there := ledger[boot]
		if !there || !fits(r) {
			continue
		}
		kind, wrong := all.ring().check(r.Signature, r.text())
		if kind == "" {
			return r, ""
		}
		why = wrong
	}
	return removal{}, why
}

// ring makes the keyring for lines of the ledger. Without a key that was given it
// is those of the logs: where they are signed, the ledger is, too.
func (r *Report) ring(o VerifyOptions) func() *keyring {
	given := slices.Clone(o.Keys)
	if len(given) == 0 {
		for _, l := range r.Logs {
			if l.key != nil && !slices.ContainsFunc(given, func(k ed25519.PublicKey) bool { return k.Equal(l.key) }) {
				given = append(given, l.key)
			}
		}
	}
	return func() *keyring { return &keyring{given: given} }
}

// noteKeys tells, where no key was given, of logs that are signed otherwise than the
// newest one that is: by another key, or by none.
func (r *Report) noteKeys(o VerifyOptions) {
	if len(o.Keys) > 0 {
		return
	}
	newest := ""
	for i := range slices.Backward(r.Logs) {
		l := &r.Logs[i]
		switch {
		case newest == "":
			newest = l.KeyID
		case l.KeyID == "":
			l.Notes = append(l.Notes, "it is not signed, and newer logs are, by key "+newest)
		case l.KeyID != newest:
			l.Notes = append(l.Notes, "it is signed by another key than newer logs, "+newest+"; --public-key says which may sign")
		}
	}
}

// knownRecords gathers what first records and checkpoints tell of logs, by server.
func knownRecords(logs []Source, o VerifyOptions) (known map[string][]anchor, lost []Problem) {
	known = map[string][]anchor{}
	for _, s := range logs {
		first, ok := firstOf(s.Folder)
		if !ok || first.Kind != ServerStart {
			continue
		}
		var d started
		if json.Unmarshal(first.Detail, &d) != nil {
			continue
		}
		for _, other := range d.Others {
			known[other.Boot] = append(known[other.Boot], anchor{other.Seq, other.Hash, "the first record of server " + s.Boot, other.Live})
		}
	}
	for _, c := range o.Checkpoints {
		ring := keyring{given: o.Keys}
		if kind, why := ring.check(c.Signature, c.text()); kind != "" {
			lost = append(lost, Problem{Boot: c.Boot, Seq: c.Seq, Kind: kind, Why: "the checkpoint to verify against: " + why})
			continue
		}
		known[c.Boot] = append(known[c.Boot], anchor{c.Seq, c.Hash, "the checkpoint", false})
		if c.RecordHash != "" {
			known[c.Boot] = append(known[c.Boot], anchor{c.Seq + 1, c.RecordHash, "the checkpoint", false})
		}
	}
	return known, lost
}

// checkBegins looks at logs that do not begin at record 0.
func (r *Report) checkBegins(gone removals) {
	for i := range r.Logs {
		l := &r.Logs[i]
		if l.First == 0 || l.Bad != nil && l.Bad.Seq == l.First {
			continue
		}
		told, wrong := gone.of(l.Boot, func(told removal) bool { return told.Seq == l.First-1 && told.Hash == l.before })
		switch {
		case told.Boot != "":
			l.Notes = append(l.Notes, fmt.Sprintf("begins at record %d: retention removed what was before it on %s%s", l.First, told.Time.Format("2006-01-02 15:04:05Z"), r.confirmed(told)))
			continue
		case wrong != "":
			wrong = "the ledger of retention tells so, but " + wrong
		default:
			wrong = "nothing tells that retention removed what was before it"
		}
		l.Bad = &Problem{Boot: l.Boot, Segment: segmentName(l.First), Line: 1, Seq: l.First, Kind: Deleted, Why: "the log begins here, and " + wrong}
	}
}

// confirmed says where the log of another server tells of a removal, too.
func (r *Report) confirmed(told removal) string {
	for _, l := range r.Logs {
		for _, other := range l.removed {
			if other.Boot == told.Boot && other.Seq == told.Seq && other.Hash == told.Hash {
				return ", as the log of server " + l.Boot + " records"
			}
		}
	}
	return ""
}

// checkGone looks at logs that are known and not there.
func (r *Report) checkGone(known map[string][]anchor, gone removals, o VerifyOptions) {
	for boot, anchors := range known {
		if !strings.HasPrefix(boot, o.Server) {
			continue
		}
		last := anchors[0]
		for _, a := range anchors {
			if a.seq > last.seq {
				last = a
			}
		}
		told, _ := gone.of(boot, func(told removal) bool { return told.Whole && (told.Seq >= last.seq || last.live) })
		if told.Boot == "" {
			r.Lost = append(r.Lost, Problem{Boot: boot, Seq: last.seq, Kind: Missing, Why: "the whole log is gone; " + last.from + " knows this record of it"})
		}
	}
	slices.SortFunc(r.Lost, func(a, b Problem) int { return strings.Compare(a.Boot, b.Boot) })
}
