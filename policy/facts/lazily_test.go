package facts

import "testing"

func TestPatternsCompile(t *testing.T) {
	for _, p := range []*lazyPattern{
		duplication, dupTarget, variable, timed, descriptor, plainTarget, delimiter, bashOnly,
		helperTransport, executingKeys, spelledAddr, numericHost, mappedHost, climbing,
	} {
		if p.get().String() != p.text {
			t.Errorf("%s is not what was compiled", p.text)
		}
	}
}
