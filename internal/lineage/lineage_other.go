//go:build !linux

package lineage

// SetBrand does nothing on this system.
func SetBrand(int, string) error { return nil }

// BrandOf returns 0: there are no brands on this system.
func BrandOf(int) uint64 { return 0 }

// Of knows nothing on this system.
func Of(int, ...int) (session string, belongs bool, err error) { return "", false, nil }

// Above knows nothing on this system.
func Above(int) (session string, belongs bool, err error) { return "", false, nil }
