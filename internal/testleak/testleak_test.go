package testleak

import (
	"strings"
	"testing"
)

func waitFor(c chan struct{}) { <-c }

func TestStacks(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	go waitFor(stop) // ends with the test
	t.Run("one is found", func(t *testing.T) {
		found := false
		for !found { // it has to begin first
			for _, stack := range stacks(nil) {
				found = found || strings.Contains(stack, "testleak.waitFor")
			}
		}
	})
	t.Run("a permanent one is not", func(t *testing.T) {
		for _, stack := range stacks([]string{"testleak.waitFor"}) {
			if strings.Contains(stack, "waitFor") {
				t.Error(stack)
			}
		}
	})
}
