// Package audit keeps the record of what was decided, written before it takes
// effect and chained so that a change of any byte shows.
//
// An engine writes to a [Recorder]. [Open] makes one that keeps files:
//
//	log, err := audit.Open(audit.Options{Folder: folder, Boot: id, Key: key})
//	err = log.Record(ctx, audit.Record{Kind: audit.Decision, Tool: "Bash"})
//	err = log.Close(ctx)
//
// Whoever opens a log closes it. One goroutine takes what waits, and answers all
// of it after one write and one sync:
//
//	Record, Note → encode → queue → [chain → write → sync → answer]   until Close
//	rotation, hour → [remove what is too old or too much]             until Close
//
// Every server has a log of its own, ROOT/servers/ID/audit, of segments that are
// named for the number of their first record. [Logs] lists them, [Verify] checks
// them, a [Stream] reads them all in the order of time, also while they grow.
// docs/audit.md describes the files to those who read them.
package audit
