// Package audit keeps the record of what was decided, written before it takes
// effect and chained so that a change of any byte shows.
//
// An engine writes to a [Recorder].
package audit
