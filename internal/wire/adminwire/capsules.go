package adminwire

import "time"

// InstallCapsule names a folder with a Capsule.toml, as an absolute path, or a
// capsule that comes with the host, which may take arguments.
type InstallCapsule struct {
	What string   `json:"what"`
	Args []string `json:"args"`
}

// CapsuleRef names an installed capsule.
type CapsuleRef struct {
	Name string `json:"name"`
}

// Capsule is an installed capsule and how it stands.
type Capsule struct {
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Publisher   string    `json:"publisher"`
	Folder      string    `json:"folder,omitzero"` // absent for one that comes with the host
	Args        []string  `json:"args"`
	Order       int64     `json:"order"`  // an elder wins where two serve one URI
	Source      string    `json:"source"` // its id on the bus, the same for every build
	Build       string    `json:"build"`
	InstalledAt time.Time `json:"installed_at"`
	State       string    `json:"state"` // starting, ready, waiting, changed or off
	Reason      string    `json:"reason,omitzero"`
	PID         int       `json:"pid,omitzero"`
	Restarts    int       `json:"restarts"`
}

// Capsules is all that is installed, in the operator's order.
type Capsules struct {
	Capsules []Capsule `json:"capsules"`
}

// CapsuleLog is what a capsule last wrote to standard error, escaped.
type CapsuleLog struct {
	Log string `json:"log"`
}
