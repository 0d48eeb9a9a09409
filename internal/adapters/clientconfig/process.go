package clientconfig

import (
	"maps"
	"slices"

	"github.com/stewardhost/steward/internal/means/childprocess"
)

// Process is how the command of a server is started: with its own environment beside
// the base, and with whatever it was given that may be secret masked in its last words.
func (s Server) Process() childprocess.Spec {
	env := childprocess.BaseEnv()
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	return childprocess.Spec{Command: s.Command, Args: s.Args, Env: env, Dir: s.Cwd,
		Mask: append(slices.Collect(maps.Values(s.Env)), s.SecretWords()...)}
}
