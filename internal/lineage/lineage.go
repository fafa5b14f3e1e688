// Package lineage tells which processes belong to sessions of Gatehouse, of
// whichever server of this machine.
//
// On Linux that shows in three ways, and each covers what the others miss: a brand
// that is handed down to everything a process starts ([SetBrand]), a variable in
// its environment or that of a process above it, and a guard or a server above it.
// Elsewhere there are neither brands nor a way to look, and [Of] knows nothing.
package lineage

import (
	"errors"
	"hash/fnv"
)

// Marker is the variable that is set in everything a session starts.
const Marker = "GATEHOUSE_SESSION"

// GuardName is the name that a guard gives itself, as ps shows it: what lost its
// parents in a session of any server stands below a process of that name.
const GuardName = "gatehouse-guard"

// ErrUnclear is returned by [Of] where the processes above one cannot be told, so
// that it may belong to anybody.
var ErrUnclear = errors.New("the processes above it cannot be told")

// Brands lie between these, where no limit that a person sets does.
const (
	lowestBrand = uint64(1) << 61
	brandMask   = lowestBrand - 1
)

// Brand is the number that stands for a start of a process: its run, a random text.
func Brand(run string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(run)) // never fails
	return lowestBrand | h.Sum64()&brandMask
}

func isBrand(n uint64) bool { return n&^brandMask == lowestBrand }
