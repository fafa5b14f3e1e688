package decisionlog

// flushBytes is how much is gathered before it is written at once.
const flushBytes = 64 << 10

// writer turns entries into lines. Only the log's goroutine uses it.
type writer struct {
	log     *Log
	files   *files
	pending []byte // whole lines
	entries uint64 // of pending
	number  uint64 // of lines so far
	broken  bool   // the last write failed, and that was told
}

// add encodes one entry; one that cannot be encoded is lost.
func (w *writer) add(e Entry) {
	lost := w.log.lost.Swap(0)
	if lost > 0 {
		w.log.options.Logger.Warn("decision log: decisions were not written", "count", lost)
	}
	w.number++
	line, err := w.log.line(e, w.number, lost)
	if err != nil {
		w.log.lost.Add(lost + 1)
		w.log.options.Logger.Error("decision log: a decision could not be written down", "decision", e.ID, "error", err)
		return
	}
	w.pending = append(append(w.pending, line...), '\n')
	w.entries += 1 + lost // what this line tells is lost again if it is
	if len(w.pending) >= flushBytes {
		w.flush()
	}
}

// flush writes what is pending. What cannot be written is counted and dropped:
// a full disk must not fill the memory as well.
func (w *writer) flush() {
	if len(w.pending) == 0 {
		return
	}
	err := w.files.write(w.pending)
	if err != nil {
		w.log.lost.Add(w.entries)
	}
	if err != nil && !w.broken {
		w.log.options.Logger.Error("decision log cannot be written; decisions go on without it", "folder", w.log.options.Folder, "error", err)
	}
	if err == nil && w.broken {
		w.log.options.Logger.Info("decision log is written again", "folder", w.log.options.Folder)
	}
	w.broken = err != nil
	w.pending, w.entries = w.pending[:0], 0
	if cap(w.pending) > maxLine {
		w.pending = nil
	}
}

func (w *writer) close() {
	w.flush()
	if lost := w.log.lost.Load(); lost > 0 {
		w.log.options.Logger.Warn("decision log: decisions were not written", "count", lost)
	}
	w.files.close()
}
