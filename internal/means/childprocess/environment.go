package childprocess

import "os"

// passed are the variables that a command may know of its host: where programs
// and files are, who runs it, and in which language and time it speaks.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE",
}

// BaseEnv is the part of the host's environment that a command may have, as
// NAME=value. The caller owns the slice and adds what the operator configured.
func BaseEnv() []string {
	env := make([]string, 0, len(passed))
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
