package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// maxListErrors bounds how many unreadable sessions a list names.
const maxListErrors = 8

// Sessions lists what is kept, see [event.Store].
func (j *Journal) Sessions() ([]event.SessionRecord, error) {
	ids, err := j.ids()
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	list := make([]event.SessionRecord, 0, len(ids))
	var failed []error
	for _, id := range ids {
		r, err := j.session(id)
		switch {
		case err == nil:
			list = append(list, r)
		case !errors.Is(err, event.ErrNotStored): // removed meanwhile, or not there yet
			failed = append(failed, fmt.Errorf("session %s: %w", id, err))
		}
	}
	slices.SortStableFunc(list, func(a, b event.SessionRecord) int { return b.Created.Compare(a.Created) })
	return list, unread(failed)
}

func unread(failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	n := len(failed)
	return fmt.Errorf("journal: %d sessions cannot be read: %w", n, errors.Join(failed[:min(n, maxListErrors)]...))
}
