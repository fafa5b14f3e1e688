package cli

import "strconv"

// What the limit on open files is shared out to: of a session three pipes, two
// handles on its process, a segment of its journal, and two locks; the rest is the
// server's own, and the ends of pipes that a start holds for a moment.
const (
	filesPerProcess = 8
	filesKept       = 64
	mostProcesses   = 8192 // some systems wait with a thread for each, and ten thousand end the program
)

// MaxProcesses is how many processes this program may run at once under its limit
// on open files, which Go's runtime has raised as far as it may: at least one, at
// most 8,192.
func MaxProcesses() int { return budget(openFiles()) }

func budget(files uint64) int {
	if files > filesKept+mostProcesses*filesPerProcess {
		return mostProcesses
	}
	return max(1, (int(files)-filesKept)/filesPerProcess)
}

func fileLimit() string { return strconv.FormatUint(openFiles(), 10) }
