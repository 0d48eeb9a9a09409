package resources

import (
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// limited gives approved methods the limits that were typed for them, such as 5s.
func limited(chosen []adminwire.Choice, typed map[string]string) ([]adminwire.Choice, error) {
	for method, text := range typed {
		limit, err := time.ParseDuration(text)
		if err != nil || limit < time.Millisecond {
			return nil, trouble.UsageOf("steward review --help", "a deadline is a time such as 5s or 500ms")
		}
		i := slices.IndexFunc(chosen, func(c adminwire.Choice) bool { return c.Method == method })
		if i < 0 {
			return nil, trouble.UsageOf("steward review --help", "a deadline is for a method that you approve, and %s is not one of them", paper.Word(method))
		}
		chosen[i].DeadlineMS = limit.Milliseconds()
	}
	return chosen, nil
}
