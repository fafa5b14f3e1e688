package cli

import "time"

// SetWriteTimeout is for tests of CLIs that do not read; before the first Write.
func (p *Process) SetWriteTimeout(d time.Duration) { p.writeTimeout = d }
