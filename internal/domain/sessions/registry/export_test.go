package registry

// WeightOf is what a snapshot counts: entries and instructions, each once.
func WeightOf(s *Snapshot) int {
	n := len(s.Instructions)
	for _, e := range s.Entries {
		n += e.Resource.weigh(e.Descriptor)
	}
	return n
}
