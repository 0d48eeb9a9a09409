package sheet

import "github.com/stewardhost/steward/internal/faces/cli/paper"

// Install is the command that takes in a capsule of a folder, or one that comes with the
// host, also again.
func Install(folder, name string, args []string) string {
	words := append([]string{name}, args...)
	if folder != "" {
		words = []string{folder}
	}
	out := "steward capsule install"
	for _, word := range words {
		out += " " + paper.Word(word)
	}
	return out
}
