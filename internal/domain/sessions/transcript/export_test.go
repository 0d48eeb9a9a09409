package transcript

// Held is how many turns are kept.
func (r *Recent) Held() int { return len(r.turns) }
