package engine

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestStartsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := startsPerCore * runtime.GOMAXPROCS(0)
		e := &Engine{starts: newSlots(most)}
		var leaves []func()
		for range most {
			leave, err := e.enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		var order []int
		for i := range 5 {
			go func() { // ends when its turn came
				leave, err := e.enter(t.Context())
				if err != nil {
					t.Error(err)
				}
				order = append(order, i)
				leave()
				leave() // counts once
			}()
			synctest.Wait()
		}
		given, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := e.enter(given); CodeOf(err) != CancelledCode {
			t.Errorf("a start that was given up: %v", err)
		}
		leaves[0]()
		synctest.Wait()
		if len(order) != 5 {
			t.Fatalf("%d of 5 starts had their turn", len(order))
		}
		for i, n := range order {
			if i != n {
				t.Errorf("order %v, want first come, first served", order)
			}
		}
		for _, leave := range leaves[1:] {
			leave()
		}
		if e.starts.free != most {
			t.Errorf("%d turns are free, want %d", e.starts.free, most)
		}
	})
}
