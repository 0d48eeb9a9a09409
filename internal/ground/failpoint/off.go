//go:build !failpoints

package failpoint

// Hit does nothing in this build; the error is always nil.
func Hit(Point) error { return nil }
