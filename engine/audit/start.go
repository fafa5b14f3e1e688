package audit

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
)

// maxOthers bounds the other logs that a first record names, the newest first:
// those name the ones before them. maxLooked bounds the folders that are looked
// into for them, since not all have a log. A start waits for this.
const (
	maxOthers = 16
	maxLooked = 64
)

// started is the detail of server_start.
type started struct {
	Version string  `json:"version,omitempty"`
	System  string  `json:"system"`
	PID     int     `json:"pid"`
	Durable bool    `json:"durable"`
	KeyID   string  `json:"key_id,omitempty"`
	Others  []other `json:"others,omitempty"`
}

// other is the last record of another server's log, so that its loss shows.
type other struct {
	Boot string `json:"boot"`
	Seq  int64  `json:"seq"`
	Hash string `json:"h"`
	Live bool   `json:"live,omitempty"` // its server ran, and may have taken the record back
}

func (l *Log) startDetail() json.RawMessage {
	s := started{Version: cut(l.options.Version, 64), System: runtime.GOOS + "/" + runtime.GOARCH, PID: os.Getpid(), Durable: !l.options.NoSync}
	if k := signText(l.options.Key, nil); k.KeyID != "" {
		s.KeyID = k.KeyID
	}
	if l.options.Retention.Root != "" {
		s.Others = l.others()
	}
	return detail(s)
}

func (l *Log) others() (named []other) {
	all, err := folders(l.options.Retention.Root)
	if err != nil {
		l.options.Logger.Warn("audit log: other logs are not named in the first record", "error", err)
	}
	for i, s := range slices.Backward(all) {
		if len(named) == maxOthers || len(all)-i > maxLooked {
			break
		}
		if s.Boot == l.options.Boot {
			continue
		}
		if last, ok := lastRecord(s.Folder); ok {
			named = append(named, other{Boot: s.Boot, Seq: last.Seq, Hash: last.Hash, Live: running(s.Folder)})
		}
	}
	return named
}
