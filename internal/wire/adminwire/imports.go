package adminwire

// Import names servers to start and list.
type Import struct {
	Servers []Server `json:"servers"`
}

// Server is an entry as the owner's own files have it: a command of this machine
// or, where there is a URL, a remote server. Values of Env and Headers may be secrets.
type Server struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd,omitzero"`
	Base    string            `json:"base,omitzero"` // the folder of the file it stood in, where it starts without a cwd
	URL     string            `json:"url,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`

	// Exception lets the URL lead to a network that is not public, as in
	// http://127.0.0.1:3000=127.0.0.1/32.
	Exception string `json:"exception,omitzero"`

	// Written has what stood in the owner's file where a value came from elsewhere, such
	// as ${NAME}, by its place: env NAME, header NAME, argument N from 1, command, cwd or
	// url. An import gives it, so that an export tells it and not the value.
	Written map[string]string `json:"written,omitzero"`
}

// Exported is the owner's servers as they were imported, with ${NAME} in the place
// of what looks like a secret.
type Exported struct {
	Servers []Server `json:"servers"`
}

// Plan is what an import would make of each tool (faces page, section 1). It
// changes nothing. Failed names the servers that could not be listed.
type Plan struct {
	Tools  []PlannedTool  `json:"tools"`
	Failed []FailedServer `json:"failed,omitzero"`
}

// PlannedTool is one tool. Decisions are bounds that would be added, Lost what
// could not be kept.
type PlannedTool struct {
	Server    string     `json:"server"`
	Name      string     `json:"name"`
	Outcome   string     `json:"outcome"` // as_is, narrowed, lossy or refused
	Decisions []Decision `json:"decisions"`
	Lost      []Decision `json:"lost"`
	Reason    *Reason    `json:"reason,omitzero"` // of a refused one
}

// Decision is one difference between what an upstream says and what is proposed.
type Decision struct {
	Pointer   string `json:"pointer"` // into the proposed schema
	Kind      string `json:"kind"`
	From      string `json:"from,omitzero"` // what the upstream says, if anything
	To        string `json:"to,omitzero"`   // what is proposed, if anything
	Exception bool   `json:"exception,omitzero"`
}

// Reason is why a tool cannot be imported, and where in its definition.
type Reason struct {
	Pointer string `json:"pointer"`
	Text    string `json:"text"`
}

// Imported tells of each server what was staged for review, or why not. Known
// names those that had been imported as they are; their reviews are there too.
type Imported struct {
	Reviews []Review       `json:"reviews"`
	Known   []string       `json:"known,omitzero"`
	Failed  []FailedServer `json:"failed,omitzero"`
}

// FailedServer is a server that could not be started, listed or added.
type FailedServer struct {
	Server string `json:"server"`
	Error  Error  `json:"error"`
}

// ServerRef names an entry by its name, or as ResourceRef names its resource.
type ServerRef struct {
	Server string `json:"server"`
}
