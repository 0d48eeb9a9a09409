package invocation

// Progress is how far an executor says that a call is. The values stay as they
// were written; nothing is decided on them.
type Progress struct {
	Done    []byte // a JSON number
	Total   []byte // a JSON number, nil where it is not known
	Message []byte // a JSON string of at most bound.ProgressText, nil for none
}
