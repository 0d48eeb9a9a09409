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
	Serves      []string  `json:"serves"` // resources, tools; empty where its files cannot be read
}

// Capsules is all that is installed, in the operator's order.
type Capsules struct {
	Capsules []Capsule `json:"capsules"`
}

// CapsuleLog is what a capsule last wrote to standard error, escaped.
type CapsuleLog struct {
	Log string `json:"log"`
}

// ListReads asks for the newest reads; a Limit of 0 is the largest page.
type ListReads struct {
	Limit int `json:"limit,omitzero"`
}

// Readings lists reads of resources, newest first. A read is no call: it is in the
// trail and not in the journal.
type Readings struct {
	Reads []Reading `json:"reads"`
}

// Reading is one read, or several equal ones of one minute. Resource is empty where
// the app was told that there is none.
type Reading struct {
	At       time.Time `json:"at"`
	App      string    `json:"app"`
	AppID    string    `json:"app_id"`
	Resource string    `json:"resource"`
	Outcome  string    `json:"outcome"` // ok, or a code
	Count    int64     `json:"count"`
}
