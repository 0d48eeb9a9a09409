package settings

import (
	"regexp"

	"github.com/spf13/cobra"
)

var plainKey = regexp.MustCompile(`\A[0-9A-Za-z_-]+\z`)

// nearest is the key that was meant by a mistyped one, as the command line finds a
// verb; empty where none is near, and where the file has that one already.
func nearest(name, text string) string {
	if !plainKey.MatchString(name) {
		return ""
	}
	keys := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, r := range Rows() {
		keys.AddCommand(&cobra.Command{Use: r.Key, Run: func(*cobra.Command, []string) {}})
	}
	for _, near := range keys.SuggestionsFor(name) {
		there := regexp.MustCompile(`(?m)^[ \t"']*` + near + `[ \t"']*=`)
		if !there.MatchString(text) {
			return near
		}
	}
	return ""
}
