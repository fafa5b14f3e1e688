package author

import (
	"context"
	"strings"
	"testing"
)

func TestShortened(t *testing.T) {
	short := strings.Repeat("é\n", shownOutput/2)
	if got := shortened(short); got != short {
		t.Errorf("%d bytes were changed", len(short))
	}
	lines := "first\n" + strings.Repeat("word\n", 10*shownOutput) + "last\n"
	got := shortened(lines)
	if len(got) > 2*shownOutput+100 || !strings.HasPrefix(got, "first\nword\n") || !strings.HasSuffix(got, "word\nlast\n") || !strings.Contains(got, "\n… ") {
		t.Errorf("%d bytes: %.40q … %q", len(got), got, got[len(got)-40:])
	}
	one := shortened(strings.Repeat("é", 10*shownOutput))
	if len(one) > 2*shownOutput+100 || strings.ToValidUTF8(one, "") != one || strings.Count(one, "\n") != 2 {
		t.Errorf("one line: %d bytes", len(one))
	}
}

func TestBoundedMemory(t *testing.T) {
	within, stop := boundedMemory(t.Context(), 1)
	defer stop()
	<-within.Done()
	if context.Cause(within) != errMemory {
		t.Errorf("ended by %v", context.Cause(within))
	}
	free, stop := boundedMemory(t.Context(), 1<<62)
	stop()
	if context.Cause(free) != context.Canceled {
		t.Errorf("stopped by %v", context.Cause(free))
	}
}
